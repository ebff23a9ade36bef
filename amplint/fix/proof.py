"""Fixes that are proved: made on a copy, which is read again. The mistake is gone, and no other one is there.

The findings of the copy are compared with those of the text rule by rule: that of the fix has to be one fewer, and no
other one may be there. A mistake that another one makes superfluous to tell is not told with it (`Rule.hides`), and is
uncovered when that one is mended: it is not new if the text as it was, judged without any such hiding, has it too; a
fix that uncovers nothing goes first, and a later pass mends what was uncovered: where it could not, and an error would
be left, the fix is not proved. There is one exception: a fix that gathers micro-steps into windows, or has them go
through a scaler (`Remedy.reveals`), may bring a warning about what can be told only of those.

The files that import it are judged with the copy in its place, and may be told nothing new either. A copy that is told
less because less of it is understood proves nothing: no training loop may be followed less far than it was, and under
every assignment of run constants all has to happen that did (`runs.py`). What is not proved is shown to a person
(`display`), and never written; a call is taken away where that is proved, or not at all.
"""

from __future__ import annotations

import ast
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from amplint.catalogue.remedy import Action, Delete, Divide, Remedy
from amplint.catalogue.rule import Rule
from amplint.findings import Edit, Finding, Fix, TrainingLoop, in_own_names
from amplint.fix.code import Change, Code, applied, in_order
from amplint.fix.documents import Unwritable, edited
from amplint.fix.importers import Counts, Importers, counted
from amplint.fix.mended_along import mended_along
from amplint.fix.remedies import site_of, ways
from amplint.fix.runs import Pair, Run, keeps
from amplint.source.languages import script_of
from amplint.source.reading import Unparsable, Unreadable
from amplint.source.script import Script

Analysis = Callable[[str, str], list[Finding]]
Understanding = Callable[[str, str], list[TrainingLoop]]
Comparison = Callable[[str, str, str], Iterable[Pair] | None]
DISPLAY = "display"
MOST_MENDED = 40

_PARTS = ("window", "divisor", "scaler", "clip", "step", "zero_grad", "scheduler")


class Broken(Exception):
    """A fix has made Python out of which no parser gets wise: our own fault."""


@dataclass(frozen=True)
class Document:
    """A file as it is: its bytes, the program in it, and what is wrong with that."""

    filename: str
    data: bytes
    script: Script
    findings: tuple[Finding, ...]


@dataclass(frozen=True)
class Proved:
    """A fix, and the file after it; None for one that is not proved.

    `uncovers`: findings are told of the file after it that the mistake had hidden.
    """

    fix: Fix
    after: Document | None
    uncovers: bool = False


@dataclass(frozen=True)
class Reader:
    """How one file is read: what is wrong in it, and which training loops it has, as far as they can be followed.

    `beneath`: the findings, and those that they hide. `runs`: what happens in a file, beside what happens in another
    state of it; None where that cannot be compared. `importers`: who takes something from it. `known`: the states of
    the file that have been read.
    """

    findings: Analysis
    loops: Understanding
    beneath: Analysis
    runs: Comparison
    importers: Importers
    known: dict[bytes, Document] = field(default_factory=dict, compare=False, repr=False)

    def read(self, data: bytes, filename: str) -> Document:
        """A file, analysed; once. Raises Unparsable and Unreadable."""
        if data not in self.known:
            script = script_of(data, filename)
            self.known[data] = Document(filename, data, script, tuple(self.findings(script.text, filename)))
        return self.known[data]


class Prover:
    """Finds the fixes of one state of a file."""

    def __init__(self, document: Document, reader: Reader, rules: Mapping[str, Rule], further: bool = False) -> None:
        """`further`: the file is one that fixes have led to, and what they uncover is looked at in the end."""
        self.document, self.reader, self.rules, self.further = document, reader, rules, further
        self.code: Code | None = None
        self.loops: list[TrainingLoop] | None = None
        self.beneath: Counts | None = None
        self.played: list[Run] | None = None

    def fix(self, finding: Finding) -> Proved | None:
        """The fix of a finding: the first that is proved, else the first that can be written. Raises Broken."""
        rule = self.rules.get(finding.code)
        if rule is None or rule.remedy is None or finding.scene is None:
            return None
        found: list[Proved] = []
        self.code = self.code or Code(self.document.script.text)
        for way, changes in ways(self.code, finding, rule.remedy, self.document.findings, self._runs):
            tried = self._tried(finding, rule.remedy, way, changes)
            found += [tried] if tried is not None else []
            if tried is not None and tried.after is not None and not tried.uncovers:
                return tried
        return next((one for one in found if one.after is not None and self._leads_on(one, rule)), _shown(found))

    def _runs(self) -> Sequence[Run]:
        """What happens in the file as it is, in every run."""
        if self.played is None:
            text = self.document.script.text
            self.played = [run for run, _ in self.reader.runs(text, text, self.document.filename) or ()]
        return self.played

    def _leads_on(self, proved: Proved, rule: Rule) -> bool:
        """Whether the errors that a fix uncovers are mended, too, by further fixes."""
        assert proved.after is not None
        before = self.document.findings
        if self.further or not _errors(uncovered(before, proved.after.findings, rule.id)):
            return True

        def visible(script: Script, findings: Sequence[Finding]) -> list[Finding]:
            return list(findings)

        end, _ = fixed(proved.after, visible, self.reader, self.rules, lambda safety: True, further=True)
        return not _errors(uncovered(before, end.findings, rule.id))

    def _tried(self, finding: Finding, remedy: Remedy, way: Sequence[Action], changes: list[Change]) -> Proved | None:
        """A fix as it comes out; None where it cannot be written, or takes a call away that may be needed."""
        assert self.code is not None
        text = applied(self.code.text, changes)
        if text is None or text == self.code.text:
            return None
        edits = tuple(Edit(self.code.place(one.start, one.end), one.content) for one in in_order(changes))
        fix = Fix(DISPLAY, in_own_names(_filled(remedy.message, finding), finding.names), edits)
        shown = None if any(isinstance(action, Delete) for action in way) else Proved(fix, None)
        after = self._made(finding, edits, text)
        new = uncovered(self.document.findings, after.findings, finding.code) if after is not None else None
        if after is None or new is None or not self._is_right(after, new, finding, remedy):
            return shown
        before = self.document
        if not keeps(self.reader.runs(before.script.text, after.script.text, before.filename), way):
            return shown
        if self.reader.importers.are_told_more(before.filename, before.data, after.data):
            return shown
        return Proved(replace(fix, applicability=remedy.safety.value), after, bool(new))

    def _made(self, finding: Finding, edits: Sequence[Edit], text: str) -> Document | None:
        """The file with edits made, which has to hold a text; None where that cannot be written. Raises Broken."""
        before = self.document
        placed = tuple(replace(edit, place=before.script.place(edit.place)) for edit in edits)
        try:
            data = edited(before.data, before.filename, placed)
            script = script_of(data, before.filename)
        except (Unwritable, Unreadable):
            return None
        if script.text != text and script.text != f"{text}\n":
            return None
        _check_syntax(before.script.text, text, finding)
        try:
            return self.reader.read(data, before.filename)
        except Unparsable as error:
            raise Broken(f"the fix of {finding.code} in row {finding.place.row}: {error}") from error

    def _is_right(self, after: Document, new: Counts, finding: Finding, remedy: Remedy) -> bool:
        """Whether nothing is told of a mended file that was not there before, and as much of it is followed."""
        if not self._were_there(new, remedy.reveals) or not self._follows(after):
            return False
        return not (_divides(remedy) and self._has_an_unknown_twin(finding))

    def _were_there(self, new: Counts, revealed: Sequence[str]) -> bool:
        """Whether the text as it was has as many findings of some rules, if none is hidden, warnings of some aside."""
        hidden = {key: count for key, count in new.items() if key[1] or key[0] not in revealed}
        if hidden and self.beneath is None:
            self.beneath = counted(self.reader.beneath(self.document.script.text, self.document.filename))
        return all(self.beneath is not None and count <= self.beneath[key] for key, count in hidden.items())

    def _follows(self, after: Document) -> bool:
        before = self.document
        if self.loops is None:
            self.loops = self.reader.loops(before.script.text, before.filename)
        return as_far(self.loops, self.reader.loops(after.script.text, after.filename))

    def _has_an_unknown_twin(self, finding: Finding) -> bool:
        """Whether another branch of an `if` that a backward stands in does what is not understood, or what no run comes
        to, as the settings are: perhaps the same."""
        assert self.code is not None
        unknown = {place.row - 1 for loop in self.loops or () for place, _ in loop.not_followed}
        backwards = {at for at, line in enumerate(self.code.text.splitlines()) if ".backward(" in line}
        unknown |= backwards - {event.site.row - 1 for run in self._runs() for event in run}
        node = self.code.at(site_of(finding))
        return node is not None and any(unknown.intersection(rows) for rows in self.code.beside(node))


def _errors(counts: Counts | None) -> bool:
    """Whether there are errors among the findings; None stands for one that has come back."""
    return counts is None or any(serious for _, serious in counts)


def _shown(found: Sequence[Proved]) -> Proved | None:
    """What is shown to a person where nothing is proved."""
    return replace(found[0], fix=replace(found[0].fix, applicability=DISPLAY), after=None) if found else None


def _divides(remedy: Remedy) -> bool:
    return any(isinstance(action, Divide) for way in remedy.ways for action in way)


def as_far(before: Sequence[TrainingLoop], after: Sequence[TrainingLoop]) -> bool:
    """Whether the same training loops are followed, none of them less far, and each that stepped still does."""
    return len(before) == len(after) and all(map(_as_far, before, after))


def _as_far(before: TrainingLoop, after: TrainingLoop) -> bool:
    lost = any(getattr(after, part) == "unknown" != getattr(before, part) for part in _PARTS)
    stops = after.step == "none" != before.step
    return not lost and not stops and len(after.not_followed) <= len(before.not_followed)


def uncovered(before: Sequence[Finding], after: Sequence[Finding], code: str) -> Counts | None:
    """How often those rules speak that speak more often, or more seriously; None if the rule of the fix is one."""
    had, has = counted(before), counted(after)
    if has[(code, False)] >= had[(code, False)]:
        return None
    return Counter({key: count for key, count in has.items() if count > had[key]})


def _check_syntax(before: str, after: str, finding: Finding) -> None:
    """Raises Broken where Python could read the text before, and cannot after."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            ast.parse(before)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return
        try:
            ast.parse(after)
        except SyntaxError as error:
            raise Broken(f"the fix of {finding.code} in row {finding.place.row}: {error}") from error


def _filled(template: str, finding: Finding) -> str:
    for name, word in finding.scene.words if finding.scene is not None else ():
        template = template.replace("{" + name + "}", word)
    return template


# --- a whole file ----------------------------------------------------------------------------------------------------

Visible = Callable[[Script, Sequence[Finding]], list[Finding]]
"""The findings of a script that are told: neither hidden by a comment nor unselected."""


def fixed(
    document: Document,
    visible: Visible,
    reader: Reader,
    rules: Mapping[str, Rule],
    applicable: Callable[[str], bool],
    further: bool = False,
) -> tuple[Document, list[Finding]]:
    """The file after all fixes that may be made, one after the other, and the findings that they mended. Raises Broken.

    Each is proved on the file as the one before has left it, so that overlapping fixes wait for each other. What could
    not be mended is tried once more when all others are.
    """
    mended: list[Finding] = []
    waiting: set[Known] = set()
    again = False
    while len(mended) < MOST_MENDED:
        prover = Prover(document, reader, rules, further)
        told = visible(document.script, document.findings)
        for finding, known in _told_apart(document, told):
            remedy = rules[finding.code].remedy if finding.code in rules else None
            if known in waiting or remedy is None or not applicable(remedy.safety.value):
                continue
            waiting.add(known)
            proved = prover.fix(finding)
            if proved is not None and proved.after is not None:
                along = mended_along(finding, told, proved.fix.edits, proved.after.findings)
                mended += [replace(one, fix=proved.fix) for one in (finding, *along)]
                document, again = proved.after, True
                break
        else:
            if not again:
                break
            waiting, again = set(), False
    return document, mended


Known = tuple[str, str, int]
"""A rule, the line that it speaks of, and how many such findings stand before this one."""


def _told_apart(document: Document, findings: Sequence[Finding]) -> Iterator[tuple[Finding, Known]]:
    """Findings, each with what it is known by while lines above it come and go."""
    lines, seen = document.script.text.splitlines(), Counter[tuple[str, str]]()
    for finding in findings:
        row = finding.place.row
        key = finding.code, lines[row - 1].strip() if row <= len(lines) else ""
        yield finding, (*key, seen[key])
        seen[key] += 1
