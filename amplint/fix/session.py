"""What is done about the fixes of one file: offered with its findings, told as a patch, or written."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass

from amplint.catalogue.rule import Rule
from amplint.findings import Finding
from amplint.fix import files
from amplint.fix.offers import with_fixes
from amplint.fix.proof import Document, Reader, Visible, fixed
from amplint.settings import Fixing, Settings


@dataclass(frozen=True)
class Mended:
    """A file after its fixes: what is still wrong with it, what was put right, and the patch.

    `unwritten`: why nothing was written though it should have been; the findings are those of before.
    """

    document: Document
    findings: tuple[Finding, ...]
    mended: tuple[Finding, ...] = ()
    patch: str = ""
    unwritten: str | None = None


def mended(
    document: Document,
    visible: Visible,
    reader: Reader,
    rules: Mapping[str, Rule],
    settings: Settings,
    on_disk: bool,
) -> Mended:
    """What becomes of a file as the settings ask. Raises Broken."""
    fixable = settings.fixable.rules(settings.inside(document.filename))
    versions = settings.versions_of(document.filename)
    known = {name: rule.under(versions) for name, rule in rules.items() if name in fixable}
    if settings.fixing is Fixing.OFFER:
        return Mended(document, _offered(document, visible, reader, known))
    after, done = fixed(document, visible, reader, known, _applicable(settings))
    patch = files.patch(document.filename, document.data, after.data) if settings.fixing is Fixing.SHOW else ""
    if settings.fixing is Fixing.WRITE and on_disk:
        try:
            files.replace_file(document.filename, document.data, after.data)
        except files.Changed:
            return _unwritten(document, visible, "it was changed by somebody else meanwhile")
        except OSError as error:
            return _unwritten(document, visible, error.strerror or str(error))
    return Mended(after, _offered(after, visible, reader, known), tuple(done), patch)


def _applicable(settings: Settings) -> Callable[[str], bool]:
    allowed: Collection[str] = ("safe", "unsafe") if settings.unsafe_fixes else ("safe",)
    return lambda safety: safety in allowed


def _offered(document: Document, visible: Visible, reader: Reader, rules: Mapping[str, Rule]) -> tuple[Finding, ...]:
    return tuple(with_fixes(document, visible, reader, rules))


def _unwritten(document: Document, visible: Visible, why: str) -> Mended:
    return Mended(document, tuple(visible(document.script, document.findings)), unwritten=why)
