"""Which versions of a library a project may be run with, told from its bounds (`>=2.4,<3`, `^2.1`, `==2.6.*`)."""

from __future__ import annotations

import re
from collections.abc import Mapping

_BOUND = re.compile(r"(===|==|~=|>=|<=|!=|>|<|\^|~|)\s*v?(\d+(?:\.\d+)*)")
_LOWER = frozenset({"", "===", "==", "~=", ">=", ">", "^", "~"})
_PINNED = frozenset({"", "===", "==", "~=", "^"})
_UPPER = frozenset({"<", "<="})


def allows(versions: Mapping[str, str], since: tuple[str, str] | None) -> bool:
    """Whether all versions that are declared of a library have what came with a version of it.

    Where no lower bound is declared, the newest version that is allowed counts: what is not known is new.
    """
    if since is None:
        return True
    library, version = since
    wanted = _numbers(version)
    for bound, declared in _BOUND.findall(versions.get(library, "")):
        found = _numbers(declared)
        if bound in _LOWER and found < wanted:
            return False
        if (bound == "<" and found <= wanted) or (bound == "<=" and found < wanted):
            return False
    return True


def reaches(versions: Mapping[str, str], since: tuple[str, str] | None) -> bool:
    """Whether the newest version of a library that is declared to be allowed has what came with a version of it."""
    if since is None:
        return True
    library, version = since
    wanted = _numbers(version)
    return all(_may_be(bound, declared, wanted) for bound, declared in _BOUND.findall(versions.get(library, "")))


def _may_be(bound: str, declared: str, wanted: tuple[int, ...]) -> bool:
    """Whether a bound leaves a version as new as the wanted one; `==4.*` and `~=4.40` leave all of 4."""
    if bound in _UPPER:
        found = _numbers(declared)
        return found > wanted or (bound == "<=" and found == wanted)
    parts = tuple(map(int, declared.split(".")))
    kept = {"~=": len(parts) - 1, "^": 1}.get(bound, len(parts))
    return bound not in _PINNED or parts[:kept] >= wanted[:kept]


def _numbers(version: str) -> tuple[int, ...]:
    """A version as numbers, without the zeros at its end: 2.4.0 is 2.4."""
    numbers = [int(part) for part in version.split(".")]
    while numbers and not numbers[-1]:
        numbers.pop()
    return tuple(numbers)
