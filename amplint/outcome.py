"""What becomes of files, one by one and together."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from amplint.findings import Finding, Severity
from amplint.source.languages import script_of
from amplint.source.reading import Unreadable
from amplint.source.script import Script

INTERRUPTED = 130


@dataclass(frozen=True)
class Candidate:
    """A file that may matter: its path as it is shown, and its bytes, or why there are none.

    `given`: its bytes come from elsewhere than the disk, and go back there. `block`: the part of it that is meant, of
    which `data` are the bytes; what is found there is told and not mended.
    """

    filename: str
    data: bytes = b""
    unreadable: Unreadable | None = None
    given: bool = False
    block: Script | None = None

    @property
    def script(self) -> Script:
        """The Python of it. Raises Unreadable."""
        if self.unreadable:
            raise self.unreadable
        return self.block or script_of(self.data, self.filename)


@dataclass(frozen=True)
class Checked:
    """What became of one file. `texts` (by cell) are there if there are findings to show, `crash` if it failed.

    `mended` are the findings that are no more, `data` the bytes of the file then, `patch` the difference; `unwritten`
    says why the file is not changed although it should be.
    """

    findings: tuple[Finding, ...] = ()
    texts: Mapping[int | None, str] = field(default_factory=dict)
    crash: str | None = None
    analysed: bool = False
    mended: tuple[Finding, ...] = ()
    data: bytes | None = None
    patch: str = ""
    unwritten: str | None = None


@dataclass(frozen=True)
class Outcome:
    """What became of a run: findings in order, the texts they stand in, what could not be done, and counts.

    `texts` are by file and cell, the cell None where there are none. `mended` are findings that are no more; `patch` is
    the difference, `data` what the one file of stdin has become; `unwritten` are files that could not be changed.
    `interrupted`: some files were not looked at, since somebody ended the run.
    """

    findings: tuple[Finding, ...]
    texts: dict[tuple[str, int | None], str]
    crashes: tuple[tuple[str, str], ...] = ()
    missing: tuple[str, ...] = ()
    files: tuple[str, ...] = ()
    relevant: int = 0
    analysed: int = 0
    mended: tuple[Finding, ...] = ()
    patch: str = ""
    data: bytes | None = None
    unwritten: tuple[tuple[str, str], ...] = ()
    interrupted: bool = False

    def exit_code(self, strict: bool = False, exit_zero: bool = False) -> int:
        """130: interrupted; 3: our fault; 2: a path does not exist, or a file cannot be written; 1: findings count; 0:
        none does."""
        if self.interrupted:
            return INTERRUPTED
        if self.crashes:
            return 3
        if self.missing or self.unwritten:
            return 2
        counting = [finding for finding in self.findings if not finding.refuted]
        failing = any(strict or finding.severity is Severity.ERROR for finding in counting)
        return int(failing and not exit_zero)
