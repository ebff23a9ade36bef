"""The map: what becomes of the paths that were asked for, stage by stage.

    discover   which files are meant                                    source/discover
    prefilter  which of them can hold a training step, by their bytes   source/prefilter
    read       the Python of each: a notebook's cells are one program,  source/script
               each Python block of Markdown is one of its own
    analyse    what is wrong in each                                    analysis, the only stage that needs LibCST
    suppress   what its comments hide, and what they hide in vain       source/comments
    select     which rules speak                                        selection
    mend       what puts it right, proved on a copy; written if asked   fix, where there is a finding with a remedy
    report     telling                                                  report, called by cli

A file on which the analysis fails is our fault: it is named, and the others are still done.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from typing import Any

from amplint.dialects.taught import taught, words_of
from amplint.findings import Finding, Place, Severity
from amplint.outcome import Candidate, Checked, Outcome
from amplint.settings import Fixing, Settings
from amplint.source.asked import instead
from amplint.source.discover import SUFFIXES, Discovery, SourceFile, discover
from amplint.source.globs import matcher
from amplint.source.imported import families
from amplint.source.languages import MARKDOWN, is_markdown, is_notebook, no_notebook
from amplint.source.prefilter import holds_comment, holds_training_words
from amplint.source.reading import LIMIT, LIMIT_WITH_OUTPUTS, Unparsable, Unreadable, read
from amplint.source.script import Script
from amplint.workers import spread

Analysis = Callable[[str, str], list[Finding]]
Progress = Callable[[int, int, str], None]
"""Told how many files are done, of how many, and which one has been waited for longest; empty for none."""


def check(
    paths: Sequence[str],
    settings: Settings,
    jobs: int | None = None,
    analysis: Analysis | None = None,
    progress: Progress | None = None,
) -> Outcome:
    """The outcome for files and folders. The number of jobs changes nothing but the time."""
    found = found_files(paths, settings)
    relevant = prefilter(found, words_of(settings.dialects))
    return _checked(relevant, settings, jobs, analysis, progress or _silent, found)


def check_text(data: bytes, filename: str, settings: Settings, analysis: Analysis | None = None) -> Outcome:
    """The outcome for the content of one file, as an editor hands it over."""
    words = words_of(settings.dialects)
    candidates = [Candidate(filename, data, given=True)] if _wanted_by_name(data, filename, words) else []
    if is_markdown(filename):
        candidates = _blocks(filename, data)
    return _checked(candidates, settings, 1, analysis, _silent, Discovery((SourceFile(filename, named=True),)))


def found_files(paths: Sequence[str], settings: Settings) -> Discovery:
    """The files that are meant by the paths."""
    suffixes = (*SUFFIXES, *MARKDOWN) if settings.markdown else SUFFIXES
    found = discover(paths, matcher(settings.exclude), str(settings.root), settings.force_exclude, suffixes)
    if settings.since is None:
        return found
    from amplint.since import touched

    return replace(found, files=touched(found.files, settings.since))


def prefilter(found: Discovery, words: frozenset[str] = frozenset()) -> list[Candidate]:
    """The files that can hold a training step or speak to amplint, and those that cannot be read.

    `words`: what says so besides those that every dialect has.
    """
    wanted = partial(_wanted, words=words)
    candidates = [
        Candidate(folder, unreadable=Unreadable(f"the folder cannot be read: {why}")) for folder, why in found.closed
    ]
    for file in found.files:
        try:
            limit = LIMIT_WITH_OUTPUTS if is_notebook(file.path) else LIMIT
            by_name = partial(_wanted_by_name, filename=file.path, words=words)
            data = read(file.path, by_name if file.named else wanted, limit)
        except Unreadable as problem:
            candidates.append(Candidate(file.path, unreadable=problem))
        else:
            if data is not None:
                candidates += _blocks(file.path, data) if is_markdown(file.path) else [Candidate(file.path, data)]
    return candidates


def _blocks(filename: str, data: bytes) -> list[Candidate]:
    """The blocks of a Markdown file that can hold a training step or speak to amplint."""
    from amplint.source.markdown import scripts_of

    blocks = [Candidate(filename, script.text.encode("utf-8", "replace"), block=script) for script in scripts_of(data)]
    return [block for block in blocks if _wanted(block.data)]


def _checked(
    candidates: Sequence[Candidate],
    settings: Settings,
    jobs: int | None,
    analysis: Analysis | None,
    progress: Progress,
    found: Discovery,
) -> Outcome:
    others = tuple(one.filename for one in candidates) if settings.fixing is not Fixing.NONE else ()
    changing = settings.fixing in (Fixing.SHOW, Fixing.WRITE)
    groups = families(others) if changing else [[at] for at in range(len(candidates))]
    work = partial(_one_after_the_other, settings=settings, analysis=analysis, others=others)
    done: dict[int, Checked] = {}
    interrupted = False
    try:
        progress(0, len(candidates), _oldest(candidates, done))
        for at, found_there in spread(work, _of(candidates, groups), _lost, jobs):
            done.update(zip(groups[at], found_there, strict=True))
            progress(len(done), len(candidates), _oldest(candidates, done))
    except KeyboardInterrupt:  # what is finished is told
        interrupted = True
    results = [done[at] for at in sorted(done)]
    told = [settings.severities.of(one) for result in results for one in result.findings]
    named = list(zip((candidates[at].filename for at in sorted(done)), results, strict=True))
    return Outcome(
        findings=tuple(sorted(told, key=lambda one: one.order)),
        texts={(filename, cell): text for filename, result in named for cell, text in result.texts.items()},
        crashes=tuple((filename, result.crash) for filename, result in named if result.crash),
        missing=found.missing,
        files=tuple(file.path for file in found.files),
        relevant=len(candidates),
        analysed=sum(result.analysed for result in results),
        mended=tuple(one for result in results for one in result.mended),
        patch="".join(result.patch for result in results),
        data=next((result.data for result in results if result.data is not None), None),
        unwritten=tuple((filename, result.unwritten) for filename, result in named if result.unwritten),
        interrupted=interrupted,
    )


def _oldest(candidates: Sequence[Candidate], done: Mapping[int, Checked]) -> str:
    """The first file that is not done, which is that of which the analysis began first."""
    return next((one.filename for at, one in enumerate(candidates) if at not in done), "")


def _of(candidates: Sequence[Candidate], groups: Sequence[Sequence[int]]) -> list[tuple[Candidate, ...]]:
    return [tuple(candidates[at] for at in group) for group in groups]


def _one_after_the_other(
    group: Sequence[Candidate], settings: Settings, analysis: Analysis | None, others: Sequence[str]
) -> list[Checked]:
    """What becomes of some files, of which one may import another: each is judged with those before it mended."""
    results = []
    with ExitStack() as mended:
        for candidate in group:
            result = check_file(candidate, settings, analysis, others)
            if settings.fixing is Fixing.SHOW and result.patch and result.data is not None:
                mended.enter_context(instead(candidate.filename, result.data))
            results.append(result)
    return results


def check_file(
    candidate: Candidate, settings: Settings, analysis: Analysis | None = None, others: Sequence[str] = ()
) -> Checked:
    """What becomes of one file, from its bytes to its findings. `others`: the files that may import it."""
    filename = candidate.filename
    speaking = settings.selection.rules(settings.inside(filename))
    trains = holds_training_words(candidate.data, words_of(settings.dialects))
    try:
        script = candidate.script
        findings, whole = _analysed(candidate, script, settings, analysis) if trains else ([], True)
    except Unreadable as problem:
        place = Place(problem.row, 1, problem.row, 1)
        finding = _unseen(candidate, place, "unreadable-file", problem.why)
        return Checked((finding,) if finding.code in speaking else ())
    except Exception as fault:
        return Checked(crash=told_fault(fault))
    visible = partial(_visible, filename=filename, speaking=speaking, whole=whole, data=candidate.data)
    told = visible(script, findings)
    mendable = settings.fixing is not Fixing.NONE and whole and candidate.block is None
    if mendable and any(finding.scene is not None for finding in told):
        return _mended(candidate, script, findings, visible, settings, analysis, others)
    return _checked_file(script, told, _broken(script, filename, speaking) if trains else [], analysed=trains)


def _checked_file(script: Script, told: Sequence[Finding], placed: Sequence[Finding] = (), **rest: Any) -> Checked:
    """What is told of a file, where it stands there; `placed` already does."""
    placed = (*map(script.placed, told), *placed)
    return Checked(placed, script.texts if placed else {}, **rest)


def _visible(
    script: Script, findings: Sequence[Finding], filename: str, speaking: frozenset[str], whole: bool, data: bytes
) -> list[Finding]:
    """The findings that are neither hidden by a comment nor unselected, and what is to be said of such comments."""
    if holds_comment(data):
        findings = _suppressed(list(findings), script.text, filename, speaking if whole else frozenset())
    return [finding for finding in findings if finding.code in speaking]


def _mended(
    candidate: Candidate,
    script: Script,
    findings: list[Finding],
    visible: Callable[[Script, Sequence[Finding]], list[Finding]],
    settings: Settings,
    analysis: Analysis | None,
    others: Sequence[str],
) -> Checked:
    """What becomes of a file that has findings with remedies. A fault in mending is no reason to tell no findings."""
    from amplint.analysis import all_findings_of, loops_of, side_by_side_of
    from amplint.catalogue import RULES
    from amplint.fix.importers import Importers
    from amplint.fix.proof import Document, Reader
    from amplint.fix.session import mended

    document = Document(candidate.filename, candidate.data, script, tuple(findings))
    try:
        dialects = taught(settings.dialects)
        beneath = partial(all_findings_of, versions=settings.versions_of(candidate.filename), taught=dialects)
        analyse = chosen(analysis, settings)
        follow = partial(loops_of, taught=dialects, once=True)
        beside = partial(side_by_side_of, taught=dialects)
        reader = Reader(analyse, follow, beneath, beside, Importers(others, analyse, beneath))
        done = mended(document, visible, reader, RULES, settings, not candidate.given)
    except Exception as fault:
        return _checked_file(script, visible(script, findings), analysed=True, crash=told_fault(fault))
    return _checked_file(
        done.document.script,
        done.findings,
        analysed=True,
        mended=done.mended,
        data=done.document.data,
        patch=done.patch,
        unwritten=done.unwritten,
    )


def _analysed(
    candidate: Candidate, script: Script, settings: Settings, analysis: Analysis | None
) -> tuple[list[Finding], bool]:
    """The findings in one file, and whether all of it could be read."""
    work = chosen(analysis, settings)
    if analysis is None and settings.cache_dir is not None and not candidate.given and candidate.block is None:
        from amplint.cache import kept

        told = {
            **settings.versions_of(candidate.filename),
            **{name: repr(sorted(table.items())) for name, table in settings.dialects.items()},
        }
        work = kept(settings.cache_dir, work, told, settings.fixing is not Fixing.NONE)
    try:
        return work(script.text, candidate.filename), not script.broken
    except Unparsable as error:
        if error.taken:  # it is ours to read, and we cannot: the program is right for all that is known
            return [], False
        place = Place(error.row, error.column, error.row, error.column + 1)
        why = f"the file cannot be parsed: {error.why}"
        return [_unseen(candidate, place, "syntax-error", why)], False


def _unseen(candidate: Candidate, place: Place, code: str, why: str) -> Finding:
    """That a file, or a part of it, could not be checked."""
    return Finding(candidate.filename, place, code, Severity.ERROR, why, "nothing in it was checked")


def chosen(analysis: Analysis | None, settings: Settings, remembers: bool = False) -> Analysis:
    """The analysis that was handed over, else the one that amplint brings; `remembers`: it finds nothing twice."""
    if analysis is not None:
        return analysis

    def analyse(text: str, filename: str) -> list[Finding]:
        from amplint.analysis import findings_of  # with it comes LibCST: not before there is something to analyse

        versions = settings.versions_of(filename)
        return findings_of(text, filename, versions, noisy=True, taught=taught(settings.dialects))

    if settings.fixing is Fixing.NONE and not remembers:
        return analyse
    from amplint.remembered import remembered

    return remembered(analyse, lambda filename: repr((settings.versions_of(filename), settings.dialects)))


def _broken(script: Script, filename: str, speaking: frozenset[str]) -> list[Finding]:
    """What is said of the cells of a notebook that are not Python; the others were checked without them."""
    advice = "nothing in this cell was checked"
    return [
        Finding(filename, place, "syntax-error", Severity.ERROR, f"the cell cannot be parsed: {why}", advice)
        for place, why in script.broken
        if "syntax-error" in speaking
    ]


def _suppressed(findings: list[Finding], text: str, filename: str, speaking: frozenset[str]) -> list[Finding]:
    from amplint.selection import found_by_reading, known_rules
    from amplint.source.comments import comments_of, without_ignored

    judged = speaking & found_by_reading()
    families = {name: rule.family for name, rule in known_rules().items()}
    return without_ignored(findings, comments_of(text), filename, families, judged)


def _wanted(data: bytes, words: frozenset[str] = frozenset()) -> bool:
    return holds_training_words(data, words) or holds_comment(data)


def _wanted_by_name(data: bytes, filename: str, words: frozenset[str] = frozenset()) -> bool:
    if is_notebook(filename) and no_notebook(data):
        return True
    return _wanted(data, words) or b"\0" in data  # UTF-16, for one, hides every word


def text_of(filename: str) -> str:
    """The text of a file as it is shown; empty for one that cannot be read."""
    try:
        return Candidate(filename, read(filename, lambda data: True) or b"").script.text
    except Unreadable:
        return ""


def _silent(done: int, total: int, oldest: str) -> None:
    """Nobody waits."""


def told_fault(fault: Exception) -> str:
    """An exception that is our own fault, as it is shown."""
    from traceback import format_exception

    return "".join(format_exception(type(fault), fault, fault.__traceback__, limit=-8)).rstrip()


def _lost(group: Sequence[Candidate]) -> list[Checked]:
    return [
        Checked(crash="the process that was checking it ended without a word (out of memory or stack?)") for _ in group
    ]
