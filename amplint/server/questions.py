"""What an editor asks of a file, and the answers: the stages of a check, run on the texts that the editor has."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from enum import Enum

from amplint.findings import Edit, Finding, TrainingLoop
from amplint.server.options import Options
from amplint.settings import Fixing, Settings, SettingsError
from amplint.source.asked import instead
from amplint.source.discover import discover, shown


class Kind(Enum):
    """What is asked."""

    CHECK = "what is wrong in a file"
    MEND = "the same, with the fixes that are proved"
    MEND_ALL = "the file after its fixes"
    LOOPS = "its training loops"


@dataclass(frozen=True)
class Question:
    """What is asked of a file. `root`: the folder that it is asked from. `opened`: the bytes of all files that the
    editor holds, by absolute path, that file among them."""

    kind: Kind
    path: str
    root: str
    opened: Mapping[str, bytes] = field(repr=False)
    options: Options = field(default_factory=Options)


@dataclass(frozen=True)
class Told:
    """A finding. `ignored`: what silences it by a comment. `mendable`: its fix may be asked for."""

    finding: Finding
    ignored: tuple[Edit, ...] = ()
    mendable: bool = False


@dataclass(frozen=True)
class Answer:
    """What was found. `texts`: other files that are spoken of, by the name that they are spoken of with. `data`: the
    file as it is mended. `trouble`: why there is no answer, in a line; `fault`: the same, where it is our own."""

    told: tuple[Told, ...] = ()
    loops: tuple[TrainingLoop, ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict)
    data: bytes | None = None
    trouble: str = ""
    fault: str = ""


def answered(question: Question) -> Answer:
    """The answer to a question. It is looked for in the question's root: that becomes the working directory."""
    try:
        os.chdir(question.root)
        settings = question.options.settings()
    except SettingsError as problem:
        return Answer(trouble=str(problem))
    except OSError as problem:
        return Answer(trouble=f"{question.root}: {problem.strerror or problem}")
    with ExitStack() as held:
        for path, data in question.opened.items():
            held.enter_context(instead(path, data))
        name = shown(question.path)
        if _left_out(question.path, settings):
            return Answer()
        try:
            return _ANSWERS[question.kind](name, question.opened[question.path], settings)
        except SettingsError as problem:  # of a baseline
            return Answer(trouble=str(problem))


def _left_out(path: str, settings: Settings) -> bool:
    """Whether the configuration excludes a file; one that is not on disk yet is not looked for there."""
    from amplint.source.globs import matcher

    found = discover([path], matcher(settings.exclude), str(settings.root), even_by_name=True)
    return not found.files and not found.missing


def _checked(name: str, data: bytes, settings: Settings) -> Answer:
    from amplint.run import check_text, chosen

    outcome = check_text(data, name, settings, chosen(None, settings, remembers=True))
    if outcome.crashes:
        return Answer(fault=outcome.crashes[0][1])
    findings = list(outcome.findings)
    if settings.baseline is not None:
        from amplint.baseline import read, sifted

        findings = list(sifted(read(settings.baseline), findings, outcome.texts, lambda entry: False).new)
    return Answer(tuple(_told(one, outcome.texts, settings) for one in findings), texts=_texts(findings))


def _told(finding: Finding, texts: Mapping[tuple[str, int | None], str], settings: Settings) -> Told:
    from amplint.catalogue import RULES
    from amplint.fix.ignores import OWN_FAMILY, edits_of
    from amplint.selection import known_rules

    rule, cell = RULES.get(finding.code), finding.place.cell
    fixable = finding.code in settings.fixable.rules(settings.inside(finding.filename))
    silent = known_rules()[finding.code].family == OWN_FAMILY
    ignored = [] if silent else edits_of([finding], texts[(finding.filename, cell)], cell)
    mendable = fixable and rule is not None and rule.remedy is not None and finding.scene is not None
    return Told(replace(finding, scene=None), tuple(ignored), mendable)


def _texts(findings: list[Finding]) -> dict[str, str]:
    """The other files that findings speak of."""
    from amplint.run import text_of

    named = {event.filename for one in findings for event in one.witness if event.filename is not None}
    return {filename: text_of(filename) for filename in sorted(named)}


def _mended(name: str, data: bytes, settings: Settings) -> Answer:
    return _with_fixes(name, data, replace(settings, fixing=Fixing.OFFER))


def _mended_all(name: str, data: bytes, settings: Settings) -> Answer:
    return _with_fixes(name, data, replace(settings, fixing=Fixing.SHOW))


def _with_fixes(name: str, data: bytes, settings: Settings) -> Answer:
    """The findings with their fixes. What imports the file has to stay right, too."""
    from amplint.outcome import Candidate
    from amplint.run import check_file
    from amplint.source.importing import importers

    done = check_file(Candidate(name, data, given=True), settings, others=(name, *importers(name)))
    told = tuple(Told(replace(one, scene=None)) for one in done.findings)
    return Answer(told, data=done.data, fault=done.crash or "")


def _loops(name: str, data: bytes, settings: Settings) -> Answer:
    from amplint.drawing import loops_of_file
    from amplint.outcome import Candidate

    found = loops_of_file(Candidate(name, data, given=True), settings)
    return Answer(loops=tuple(sorted(found.loops, key=lambda loop: loop.order)))


_ANSWERS: Mapping[Kind, Callable[[str, bytes, Settings], Answer]] = {
    Kind.CHECK: _checked,
    Kind.MEND: _mended,
    Kind.MEND_ALL: _mended_all,
    Kind.LOOPS: _loops,
}
