"""What was already there when a team began: findings that are written down once, and not told again.

An entry holds the file (relative to the baseline's folder), the rule and the fingerprint of the statement, so that
shifted lines, formatting and renamed functions do not make an old finding new. A second mistake of the same words in
the same file is new: entries are counted, not only looked up. Files that could not be checked are never hidden.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from amplint.findings import Finding
from amplint.fingerprint import Texts, fingerprints
from amplint.selection import UNSEEN, found_by_reading
from amplint.settings import Settings, SettingsError

VERSION = 1


@dataclass(frozen=True, order=True)
class Entry:
    """One finding that is known: its file with `/`, relative to the baseline; `text` is its line, for people."""

    file: str
    code: str
    fingerprint: str
    text: str = ""

    @property
    def key(self) -> tuple[str, str, str]:
        """What the entry is compared by."""
        return (self.file, self.code, self.fingerprint)


@dataclass(frozen=True)
class Baseline:
    """The entries of a baseline, and where it stands."""

    path: Path
    entries: tuple[Entry, ...] = ()

    def named(self, filename: str) -> str:
        """A file as the entries name it."""
        return os.path.relpath(os.path.realpath(filename), os.path.realpath(self.path.parent)).replace(os.sep, "/")


@dataclass(frozen=True)
class Sifted:
    """The findings that the baseline does not hold, how many it hides, and its entries that nothing matches now."""

    new: tuple[Finding, ...]
    known: int
    stale: tuple[Entry, ...]


def read(path: Path) -> Baseline:
    """The baseline of a file. Raises SettingsError."""
    try:
        document = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        advice = "; `--write-baseline` makes one" if isinstance(error, FileNotFoundError) else ""
        raise SettingsError(f"the baseline {path} cannot be read: {error.strerror or error}{advice}") from None
    except ValueError as error:
        raise SettingsError(f"the baseline {path} is not JSON: {error}; remove it and use `--write-baseline`") from None
    if not isinstance(document, dict) or document.get("version") != VERSION:
        raise SettingsError(f"{path} is not a baseline of version {VERSION}; remove it and use `--write-baseline`")
    try:
        return Baseline(path, tuple(_entry(item) for item in document["findings"]))
    except (KeyError, TypeError):
        raise SettingsError(f"the baseline {path} is damaged; remove it and use `--write-baseline`") from None


def _entry(item: dict[str, Any]) -> Entry:
    found = Entry(item["file"], item["code"], item["fingerprint"], item.get("text", ""))
    if not all(isinstance(part, str) for part in (found.file, found.code, found.fingerprint, found.text)):
        raise TypeError
    return found


def written(baseline: Baseline) -> str:
    """The text of the file: the same for the same entries, a finding on each line so that changes merge well."""
    lines = [
        json.dumps({"file": entry.file, "code": entry.code, "fingerprint": entry.fingerprint, "text": entry.text})
        for entry in sorted(baseline.entries)
    ]
    body = "\n" + ",\n".join(f"  {line}" for line in lines) + "\n" if lines else ""
    return f'{{"version": {VERSION}, "findings": [{body}]}}\n'


def sifted(baseline: Baseline, findings: Sequence[Finding], texts: Texts, judged: Callable[[Entry], bool]) -> Sifted:
    """What is new. `judged` tells of an entry whether this run would have found it again."""
    left = Counter(entry.key for entry in baseline.entries)
    new: list[Finding] = []
    for finding, entry in zip(findings, entries(baseline, findings, texts), strict=True):
        if finding.code not in UNSEEN and left[entry.key] > 0:
            left[entry.key] -= 1
        else:
            new.append(finding)
    stale: list[Entry] = []
    for entry in baseline.entries:
        if left[entry.key] > 0 and judged(entry):
            left[entry.key] -= 1
            stale.append(entry)
    return Sifted(tuple(new), len(findings) - len(new), tuple(stale))


def renewed(baseline: Baseline, findings: Sequence[Finding], texts: Texts, judged: Callable[[Entry], bool]) -> Baseline:
    """The baseline that hides just these findings; entries that this run did not judge stay if their file is there."""
    kept = [entry for entry in baseline.entries if not judged(entry) and (baseline.path.parent / entry.file).exists()]
    found = [entry for entry in entries(baseline, findings, texts) if entry.code not in UNSEEN]
    return Baseline(baseline.path, (*kept, *found))


def entries(baseline: Baseline, findings: Sequence[Finding], texts: Texts) -> Iterable[Entry]:
    """The entry of each finding."""
    for finding, fingerprint in zip(findings, fingerprints(findings, texts), strict=True):
        lines = texts.get((finding.filename, finding.place.cell), "").splitlines()
        row = finding.place.row
        text = lines[row - 1].strip() if 0 < row <= len(lines) else ""
        yield Entry(baseline.named(finding.filename), finding.code, fingerprint, text)


def judge(baseline: Baseline, files: Iterable[str], settings: Settings) -> Callable[[Entry], bool]:
    """Whether a run over these files, with these settings, would find an entry again if it were still there."""
    looked_at = {baseline.named(filename): filename for filename in files}

    def judged(entry: Entry) -> bool:
        if entry.file not in looked_at:
            return False
        return entry.code in found_by_reading() & settings.selection.rules(settings.inside(looked_at[entry.file]))

    return judged
