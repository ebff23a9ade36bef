"""What git would ignore: `.gitignore` of every folder from the repository's root down, and `.git/info/exclude`.

The matching is pathspec's, imported when the first ignore file is met. Rules of deeper files win, as in git.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pathspec import GitIgnoreSpec


@dataclass(frozen=True)
class Ignores:
    """The rules of one ignore file for what lies below `folder` (absolute, with a trailing separator)."""

    folder: str
    spec: GitIgnoreSpec


def ignored(chain: tuple[Ignores, ...], path: str) -> bool:
    """Whether git ignores an absolute path (a folder's ends in `/`). The folders above it are not asked."""
    for ignores in reversed(chain):
        verdict = ignores.spec.check_file(path[len(ignores.folder) :]).include
        if verdict is not None:
            return verdict
    return False


def chain_above(folder: str) -> tuple[Ignores, ...]:
    """The ignore files above a folder that was asked for by name, the repository's own first.

    Rules that would ignore that very folder are left out: who names it wants it checked. Nothing outside a
    repository.
    """
    parents = [folder]
    while not os.path.exists(os.path.join(parents[-1], ".git")):
        above = os.path.dirname(parents[-1])
        if above == parents[-1]:
            return ()
        parents.append(above)
    files = [(parents[-1], os.path.join(parents[-1], ".git", "info", "exclude"))]
    files += [(parent, os.path.join(parent, ".gitignore")) for parent in reversed(parents[1:])]
    chain = (ignores_in(parent, file) for parent, file in files)
    return tuple(_without(ignores, folder) for ignores in chain if ignores)


def ignores_in(folder: str, file: str) -> Ignores | None:
    """The rules of an ignore file. None where there is no such file or it cannot be read."""
    try:
        with open(file, encoding="utf-8-sig", errors="replace") as opened:
            lines = opened.read().splitlines()
    except OSError:
        return None
    return Ignores(os.path.join(folder, ""), _spec(lines))


def _spec(lines: list[str]) -> GitIgnoreSpec:
    from pathspec import GitIgnoreSpec

    try:
        return GitIgnoreSpec.from_lines(lines)
    except ValueError:  # git passes over a rule that it cannot read; pathspec refuses the whole file
        return GitIgnoreSpec([pattern for line in lines for pattern in _readable(line)])


def _readable(line: str) -> list[Any]:
    from pathspec import GitIgnoreSpec

    try:
        return list(GitIgnoreSpec.from_lines([line]).patterns)
    except ValueError:
        return []


def _without(ignores: Ignores, folder: str) -> Ignores:
    from pathspec import GitIgnoreSpec

    inside = os.path.join(folder, "")[len(ignores.folder) :]
    if not inside:
        return ignores
    kept = [rule for rule in ignores.spec.patterns if rule.include is None or rule.match_file(inside) is None]
    return Ignores(ignores.folder, GitIgnoreSpec(kept))
