"""What a project declares to depend on: in its pyproject.toml, and in the lists for pip, conda and setuptools."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from amplint import toml
from amplint.catalogue.versions import LIBRARIES, at_least, declared, listed, with_releases
from amplint.dialects.companions import OLDEST, TOGETHER

_LISTS = ("requirements.txt", "requirement*.txt", "requirements/*.txt", "*.yml", "*.yaml", "setup.cfg", "setup.py")
_INCLUDED = re.compile(r"(?m)^[ \t]*(?:-r|--requirement)[ =]+([^\s#]+)")


def bounds(folder: Path) -> dict[str, str]:
    """The bounds of libraries that may matter to a rule, from the nearest folder upwards that declares any; "" for one
    that is named without.

    What a project depends on is no configuration of amplint's, so it is read in an isolated run too.
    """
    known: dict[str, str] = {}
    for above in (folder, *folder.parents):
        file, found = above / "pyproject.toml", dict[str, str]()
        if there := file.is_file():
            with suppress(OSError, ValueError):  # a file that says nothing to amplint may be broken
                found = declared(toml.table(file.read_bytes()))
        for file in (one for pattern in _LISTS for one in sorted(above.glob(pattern))):
            for text in _texts(file, ()):
                found = _joined(found, listed(text))
        found = _joined(found, _of_companions(found))
        known = _joined(known, {name: said for name, said in found.items() if name in LIBRARIES})
        if there or (above / ".git").exists() or any(known.values()):
            break
    return known


def _joined(nearer: Mapping[str, str], farther: Mapping[str, str]) -> dict[str, str]:
    """What two lists say: the bounds of the nearer one, if it has any."""
    return {**farther, **{name: said or farther.get(name, "") for name, said in nearer.items()}}


def _of_companions(found: Mapping[str, str]) -> dict[str, str]:
    """The bounds of torch that those of libraries mean which are released for one; none where they mean nothing."""
    together = [said for name, torch in TOGETHER.items() for said in with_releases(found.get(name, ""), torch)]
    oldest = [said for name, torch in OLDEST.items() for said in at_least(found.get(name, ""), torch)]
    return {"torch": ",".join(together or oldest)} if together or oldest else {}


def _texts(file: Path, above: tuple[Path, ...]) -> Iterator[str]:
    """The text of a list, and of those that it includes."""
    text = ""
    with suppress(OSError):
        text = file.read_text(encoding="utf-8", errors="replace")
    if file.suffix in (".yml", ".yaml"):
        text = f"\n{text}".partition("\ndependencies:")[2]  # channels have names too
    yield text
    for name in _INCLUDED.findall(text) if file.suffix == ".txt" else ():
        if (other := file.parent / name) not in (file, *above):
            yield from _texts(other, (file, *above))
