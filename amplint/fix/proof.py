"""Fixes that are proved: made on a copy, which is read again. The mistake is gone, and no other one is there.

The findings of the copy are compared with those of the text rule by rule: that of the fix has to be one fewer. A copy
that is told less because less of it is understood proves nothing: no training loop may be followed less far than it
was. What is not proved is shown to a person (`display`), and never written.
"""

from __future__ import annotations

import ast
import warnings
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from amplint.catalogue.remedy import Remedy
from amplint.catalogue.rule import Rule
from amplint.findings import Edit, Finding, Fix, Severity, TrainingLoop
from amplint.fix.code import Change, Code, applied, in_order
from amplint.fix.documents import Unwritable, edited
from amplint.fix.remedies import ways
from amplint.source.languages import script_of
from amplint.source.reading import Unparsable, Unreadable
from amplint.source.script import Script

Analysis = Callable[[str, str], list[Finding]]
Understanding = Callable[[str, str], list[TrainingLoop]]
DISPLAY = "display"
MOST_PASSES = 40

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
    """A fix, and the file after it; None for one that is not proved."""

    fix: Fix
    after: Document | None


@dataclass(frozen=True)
class Reader:
    """How a program is read: what is wrong in it, and which training loops it has, as far as they can be followed."""

    findings: Analysis
    loops: Understanding

    def read(self, data: bytes, filename: str) -> Document:
        """A file, analysed. Raises Unparsable and Unreadable."""
        script = script_of(data, filename)
        return Document(filename, data, script, tuple(self.findings(script.text, filename)))


class Prover:
    """Finds the fixes of one state of a file."""

    def __init__(self, document: Document, reader: Reader, rules: Mapping[str, Rule]) -> None:
        self.document, self.reader, self.rules = document, reader, rules
        self.code: Code | None = None
        self.loops: list[TrainingLoop] | None = None

    def fix(self, finding: Finding) -> Proved | None:
        """The fix of a finding: the first that is proved, else the first that can be written. Raises Broken."""
        rule = self.rules.get(finding.code)
        if rule is None or rule.remedy is None or finding.scene is None:
            return None
        shown: Proved | None = None
        self.code = self.code or Code(self.document.script.text)
        for changes in ways(self.code, finding, rule.remedy):
            found = self._tried(finding, rule.remedy, changes)
            if found is not None and found.after is not None:
                return found
            shown = shown or found
        return shown

    def _tried(self, finding: Finding, remedy: Remedy, changes: list[Change]) -> Proved | None:
        """A fix as it comes out; None where the file cannot be changed that way."""
        assert self.code is not None
        before, code = self.document, self.code
        text = applied(code.text, changes)
        edits = tuple(Edit(code.place(change.start, change.end), change.content) for change in in_order(changes))
        message = _filled(remedy.message, finding)
        if text is None or text == code.text:
            return None
        placed = tuple(replace(edit, place=before.script.place(edit.place)) for edit in edits)
        shown = Proved(Fix(DISPLAY, message, edits), None)
        try:
            data = edited(before.data, before.filename, placed)
            script = script_of(data, before.filename)
        except (Unwritable, Unreadable):
            return shown
        if script.text != text and script.text != f"{text}\n":
            return shown
        _check_syntax(code.text, text, finding)
        try:
            after = self.reader.read(data, before.filename)
        except Unparsable as error:
            raise Broken(f"the fix of {finding.code} in row {finding.place.row}: {error}") from error
        hidden = self.rules[finding.code].hides
        proved = better(before.findings, after.findings, finding.code, hidden) and self._follows(after)
        return Proved(Fix(remedy.safety.value, message, edits), after) if proved else shown

    def _follows(self, after: Document) -> bool:
        before = self.document
        if self.loops is None:
            self.loops = self.reader.loops(before.script.text, before.filename)
        return as_far(self.loops, self.reader.loops(after.script.text, after.filename))


def as_far(before: Sequence[TrainingLoop], after: Sequence[TrainingLoop]) -> bool:
    """Whether the same training loops are followed, none of them less far, and each that stepped still does."""
    return len(before) == len(after) and all(map(_as_far, before, after))


def _as_far(before: TrainingLoop, after: TrainingLoop) -> bool:
    lost = any(getattr(after, part) == "unknown" != getattr(before, part) for part in _PARTS)
    stops = after.step == "none" != before.step
    return not lost and not stops and len(after.not_followed) <= len(before.not_followed)


def better(before: Sequence[Finding], after: Sequence[Finding], code: str, hidden: Sequence[str] = ()) -> bool:
    """Whether there is one finding of a rule fewer, and of no rule one more, nor one that is more serious.

    A warning that was `hidden` by the mistake was there before it was mended: it is not new.
    """
    had, has = _counted(before), _counted(after)
    more = [key for key, count in has.items() if count > had[key] and (key[0] not in hidden or key[1])]
    return not more and has[(code, False)] < had[(code, False)]


def _counted(findings: Sequence[Finding]) -> Counter[tuple[str, bool]]:
    """How often each rule speaks at all, and how often as an error."""
    counts = Counter((finding.code, False) for finding in findings)
    counts.update((finding.code, True) for finding in findings if finding.severity is Severity.ERROR)
    return counts


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


def with_fixes(
    document: Document, visible: Sequence[Finding], reader: Reader, rules: Mapping[str, Rule]
) -> Iterator[Finding]:
    """The findings that are told, each with its fix, if it has one. Raises Broken."""
    prover = Prover(document, reader, rules)
    for finding in visible:
        proved = prover.fix(finding)
        yield replace(finding, fix=proved.fix) if proved is not None else finding


def fixed(
    document: Document,
    visible: Visible,
    reader: Reader,
    rules: Mapping[str, Rule],
    applicable: Callable[[str], bool],
) -> tuple[Document, list[Finding]]:
    """The file after all fixes that may be made, one after the other, and the findings that they mended. Raises Broken.

    Each is proved on the file as the one before has left it, so that overlapping fixes wait for each other.
    """
    mended: list[Finding] = []
    for _ in range(MOST_PASSES):
        prover = Prover(document, reader, rules)
        for finding in visible(document.script, document.findings):
            remedy = rules[finding.code].remedy if finding.code in rules else None
            proved = prover.fix(finding) if remedy is not None and applicable(remedy.safety.value) else None
            if proved is not None and proved.after is not None:
                document = proved.after
                mended.append(replace(finding, fix=proved.fix))
                break
        else:
            break
    return document, mended
