"""Which files are asked for: paths given by name, and the Python files and notebooks below folders, each once and
in order.

What is found below a folder is subject to the usual excludes, to `exclude` and to git's ignore files. A path given by
name is not, unless that is asked for.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

from amplint.source.gitignore import Ignores, chain_above, ignored, ignores_in
from amplint.source.languages import NOTEBOOK, PYTHON

SUFFIXES = (*PYTHON, NOTEBOOK)
# fmt: off
NEVER_ENTERED = frozenset(
    (
        ".amplint_cache", ".bzr", ".direnv", ".eggs", ".git", ".git-rewrite", ".hg", ".ipynb_checkpoints",
        ".mypy_cache", ".nox", ".pants.d", ".pyenv", ".pytest_cache", ".pytype", ".ruff_cache", ".svn", ".tox",
        ".venv", ".vscode", "__pycache__", "__pypackages__", "_build", "buck-out", "build", "dist", "node_modules",
        "site-packages", "venv",
    )
)
# fmt: on


@dataclass(frozen=True, order=True)
class SourceFile:
    """A file to look at: its path as it is shown, and whether it was given by name."""

    path: str
    named: bool = False


@dataclass(frozen=True)
class Discovery:
    """The files, sorted; the paths that do not exist; the folders that cannot be listed, each with the reason."""

    files: tuple[SourceFile, ...]
    missing: tuple[str, ...] = ()
    closed: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True)
class _Folder:
    """A folder to enter: as it is shown, where it stands (for patterns), where it really is (to know it again)."""

    shown: str
    place: str
    real: str
    ignores: tuple[Ignores, ...]


def discover(
    paths: Iterable[str],
    excluded: Callable[[str], bool] = lambda path: False,
    root: str | None = None,
    even_by_name: bool = False,
    suffixes: tuple[str, ...] = SUFFIXES,
) -> Discovery:
    """The files at the paths, and those below them whose names end so. `excluded` is asked about paths relative to
    `root`, with `/`.

    `even_by_name`: what is excluded is left out even where it is given by name, as hooks and editors do.
    """
    walk = _Walk(excluded, os.path.realpath(root or os.curdir), suffixes)
    folders: list[str] = []
    missing: list[str] = []
    for path in paths:
        if even_by_name and walk.left_out(path):
            continue
        if os.path.isdir(path):
            folders.append(path)
        elif os.path.exists(path):
            walk.files.setdefault(os.path.realpath(path), SourceFile(shown(path), named=True))
        else:
            missing.append(path)
    for path in folders:
        walk.below(path)
    return Discovery(tuple(sorted(walk.files.values())), tuple(missing), tuple(sorted(walk.closed)))


def shown(path: str) -> str:
    """A path as reports show it: relative to the working directory where it lies below that, else absolute."""
    absolute = os.path.abspath(path)
    here = os.path.join(os.getcwd(), "")
    return absolute[len(here) :] if absolute.startswith(here) else absolute


@dataclass
class _Walk:
    excluded: Callable[[str], bool]
    root: str
    suffixes: tuple[str, ...]
    files: dict[str, SourceFile] = field(default_factory=dict)
    closed: list[tuple[str, str]] = field(default_factory=list)
    entered: set[str] = field(default_factory=set)
    links: list[_Folder | tuple[str, SourceFile]] = field(default_factory=list)

    def below(self, path: str) -> None:
        """Add what lies below a folder. Links come last, so that a file is known by its own name if it has one."""
        real = os.path.realpath(path)
        prefix = shown(path) + os.sep if os.path.abspath(path) != os.getcwd() else ""
        self.enter(_Folder(prefix, real, real, chain_above(real)))
        while self.links:
            link = self.links.pop(0)
            if isinstance(link, _Folder):
                self.enter(link)
            else:
                self.files.setdefault(*link)

    def enter(self, start: _Folder) -> None:
        """Add the files of a folder and of the folders in it, depth first."""
        waiting = [start]
        while waiting:
            folder = waiting.pop()
            if folder.real in self.entered:
                continue
            self.entered.add(folder.real)
            try:
                with os.scandir(folder.place) as listing:
                    entries = sorted(listing, key=lambda entry: entry.name)
            except OSError as error:
                self.closed.append((folder.shown or os.curdir, error.strerror or str(error)))
                continue
            waiting += self.listed(folder, entries)

    def listed(self, folder: _Folder, entries: list[os.DirEntry[str]]) -> list[_Folder]:
        """The folders to enter next; files are added on the way."""
        chain = folder.ignores
        if any(entry.name == ".gitignore" for entry in entries):
            own = ignores_in(folder.place, os.path.join(folder.place, ".gitignore"))
            chain = (*chain, own) if own else chain
        inner: list[_Folder] = []
        for entry in entries:
            name, place = entry.name, entry.path
            if _is_folder(entry):
                if name in NEVER_ENTERED or self.unwanted(place) or ignored(chain, place + "/"):
                    continue
                link = entry.is_symlink()
                real = os.path.realpath(place) if link else os.path.join(folder.real, name)
                found = _Folder(folder.shown + name + os.sep, place, real, chain)
                (self.links if link else inner).append(found)
            elif name.endswith(self.suffixes) and not self.unwanted(place) and not ignored(chain, place):
                self.add(folder, entry)
        return inner[::-1]

    def add(self, folder: _Folder, entry: os.DirEntry[str]) -> None:
        """Add a file; of several links to one file the first, and only where the file itself is not there."""
        file = SourceFile(folder.shown + entry.name)
        if not entry.is_symlink():
            if entry.is_file():
                self.files.setdefault(os.path.join(folder.real, entry.name), file)
        elif os.path.isfile(entry.path):
            self.links.append((os.path.realpath(entry.path), file))

    def left_out(self, path: str) -> bool:
        """Whether a path, or a folder above it, would not have been found below the root."""
        place = os.path.realpath(path)
        while place.startswith(os.path.join(self.root, "")):
            if os.path.basename(place) in NEVER_ENTERED or self.unwanted(place):
                return True
            place = os.path.dirname(place)
        return False

    def unwanted(self, place: str) -> bool:
        """Whether `exclude` names this entry."""
        inside = place[len(self.root) :].lstrip(os.sep) if place.startswith(self.root) else place
        return self.excluded(inside.replace(os.sep, "/"))


def _is_folder(entry: os.DirEntry[str]) -> bool:
    try:
        return entry.is_dir()
    except OSError:  # a link that leads to itself
        return False
