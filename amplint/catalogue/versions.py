"""Which versions of a library a project may be run with, told from its bounds (`>=2.4,<3`, `^2.1`, `==2.6.*`)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)\s*(?:\[[^\]]*\])?\s*\(?([^;@#)]*)")
_BOUND = re.compile(r"(===|==|~=|>=|<=|!=|>|<|\^|~|)\s*v?(\d+(?:\.\d+)*)")
_WHOLE = re.compile(r"(?:===|==|~=|>=|<=|!=|>|<|\^|~|)\s*v?\d+(?:\.(?:\d+|\*))*[a-z\d.+-]*|^\s*\*\s*$")
_LOWER = frozenset({"", "===", "==", "~=", ">=", ">", "^", "~"})
_PINNED = frozenset({"", "===", "==", "~=", "^"})
_UPPER = frozenset({"<", "<="})


LIBRARIES = frozenset({"torch", "transformers", "accelerate", "lightning", "pytorch-lightning", "deepspeed", "keras"})
"""Libraries of which the version may matter to a rule."""


def is_bounds(text: str) -> bool:
    """Whether a text is bounds of a version and nothing else; empty for any version."""
    return not _WHOLE.sub("", text).strip(" ,|")


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


def assures(versions: Mapping[str, str], since: tuple[str, str] | None) -> bool:
    """Whether a declared lower bound of a library says that what came with a version of it is there."""
    if since is None:
        return True
    library, version = since
    bounds = _BOUND.findall(versions.get(library, ""))
    return any(bound in _LOWER and _numbers(declared) >= _numbers(version) for bound, declared in bounds)


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


def with_releases(bounds: str, releases: Mapping[str, str]) -> list[str]:
    """Bounds of a library, as those of another one that each of its releases comes with: by the minor version."""
    return [f"{bound}{other}" for bound, other in _released(bounds, releases) if bound != "!="]


def at_least(bounds: str, releases: Mapping[str, str]) -> list[str]:
    """The same of a library whose release needs another one that is at least so new, where one of them is pinned."""
    return [f">={other}" for bound, other in _released(bounds, releases) if bound == "=="]


def _released(bounds: str, releases: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Each bound, a pin to a minor version as `==`, with what came with its release; `~=0.12` leaves newer ones too."""
    for bound, version in _BOUND.findall(bounds):
        parts = version.split(".")
        other = releases.get(".".join((*parts, "0")[:2]))
        loose = (bound == "~=" and len(parts) < 3) or (bound == "^" and parts[0] != "0")
        if other is not None:
            yield ">=" if loose else "==" if bound in _PINNED else bound, other


def declared(document: Mapping[str, Any]) -> dict[str, str]:
    """The bounds of libraries that a pyproject.toml declares as dependencies of its project, the optional ones too; ""
    where any version will do."""
    found: dict[str, str] = {}
    for name, bounds in _requirements(document):
        key = name.lower().replace("_", "-")
        found[key] = found.get(key) or bounds
    return found


def listed(text: str) -> dict[str, str]:
    """The bounds of libraries in a list of one a line, as pip and conda read them: `torch==1.9.0  # for the driver`,
    `  - pytorch::pytorch=1.12.1=py3.8_cuda11.3`; in a setup.py each is a string. "" where a line is a name alone."""
    found: dict[str, str] = {}
    for line in (*text.splitlines(), *_QUOTED.findall(text)):
        said = _REQUIREMENT.match(line.strip().removeprefix("- ").strip("\"'").rpartition("::")[2])
        bounds = said[2].strip() if said is not None else ""
        if said is None or "@" in line or not bounds.startswith(_SIGNS if bounds else ""):
            continue
        if bounds[:1] == "=" and bounds[1:2] != "=":  # conda's: the version, and then the build
            bounds = f"=={bounds[1:].partition('=')[0]}"
        name = said[1].lower().replace("_", "-")
        name = _OF_CONDA.get(name, name)
        found[name] = found.get(name) or bounds.partition("+")[0]
    return found


_QUOTED = re.compile(r"""["']([^"'\n]*)["']""")
_SIGNS = ("=", "<", ">", "~", "!")
_OF_CONDA = {"pytorch": "torch"}
"""Libraries that conda calls otherwise than pip."""


def _requirements(document: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    project, tool = _part(document, "project"), _part(document, "tool")
    optional = _part(project, "optional-dependencies").values()
    for group in (project.get("dependencies"), *optional):
        for line in group if isinstance(group, list) else ():
            if isinstance(line, str) and (said := _REQUIREMENT.match(line)):
                yield said[1], said[2].strip()
    for name, bounds in _part(_part(tool, "poetry"), "dependencies").items():
        bounds = bounds.get("version") if isinstance(bounds, dict) else bounds
        if isinstance(bounds, str):
            yield name, bounds


def _part(document: Mapping[str, Any], name: str) -> Mapping[str, Any]:
    found = document.get(name)
    return found if isinstance(found, dict) else {}
