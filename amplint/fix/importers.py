"""The files that take something from a file: what is told of them may change when it is mended."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from amplint.findings import Finding, Severity
from amplint.source.asked import instead, recorded
from amplint.source.imported import leads_to
from amplint.source.languages import script_of
from amplint.source.reading import Unparsable, Unreadable, read

Analysis = Callable[[str, str], list[Finding]]
Counts = Counter[tuple[str, bool]]
"""How often each rule speaks at all (False), and how often as an error (True)."""


def counted(findings: Sequence[Finding]) -> Counts:
    """How often each rule speaks."""
    counts = Counter((finding.code, False) for finding in findings)
    counts.update((finding.code, True) for finding in findings if finding.severity is Severity.ERROR)
    return counts


@dataclass
class Importers:
    """The files of a run, one of which is mended. `beneath`: the findings, and those that they hide."""

    others: Sequence[str]
    findings: Analysis
    beneath: Analysis
    known: dict[tuple[str, bytes], Counts] = field(default_factory=dict)
    texts: dict[str, dict[str, str]] = field(default_factory=dict)

    def are_told_more(self, filename: str, before: bytes, after: bytes) -> bool:
        """Whether one of the files that import a file is told something that was not there before it changed."""
        if filename not in self.texts:
            self.texts[filename] = dict(self._importing(filename, before))
        return any(
            self._is_told_more(name, text, filename, before, after) for name, text in self.texts[filename].items()
        )

    def _is_told_more(self, name: str, text: str, filename: str, before: bytes, after: bytes) -> bool:
        if (name, before) not in self.known:
            with instead(filename, before):
                self.known[name, before] = counted(self.findings(text, name))
        with instead(filename, after):
            has = self.known[name, after] = counted(self.findings(text, name))
        had = self.known[name, before]
        more = [key for key, count in has.items() if count > had[key]]
        if not more:
            return False
        with instead(filename, before):
            there = counted(self.beneath(text, name))
        return any(has[key] > there[key] for key in more)

    def _importing(self, filename: str, data: bytes) -> Iterator[tuple[str, str]]:
        """The other files that ask for a file when they are read, with their texts."""
        here = os.path.abspath(filename)
        for name in self.others:
            if os.path.abspath(name) == here or not leads_to(name, filename):
                continue
            try:
                held = read(name, lambda held: True)
                text = script_of(held, name).text if held is not None else None
                with instead(filename, data), recorded() as asked:
                    told = self.findings(text, name) if text is not None else []
            except (Unparsable, Unreadable):
                continue
            if text is not None and any(kind == "stamp" and os.path.abspath(path) == here for kind, path in asked):
                self.known[name, data] = counted(told)
                yield name, text
