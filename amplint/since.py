"""The files that have changed since a state of the repository, and those that import them: what a change may break."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterable, Sequence

from amplint.settings import SettingsError
from amplint.source.discover import SourceFile
from amplint.source.importing import importers


def touched(files: Sequence[SourceFile], reference: str) -> tuple[SourceFile, ...]:
    """Those of some files that have changed since a reference of Git, or import, however indirectly, one that has.

    The reference counts from where the present branch left it. Raises SettingsError where Git does not know.
    """
    folder = os.getcwd()
    top = _git(folder, "rev-parse", "--show-toplevel").rstrip("\n")
    start = _git(
        folder, "rev-parse", "--verify", "--quiet", "--end-of-options", f"{reference}^{{commit}}", why=reference
    )
    base = _git(folder, "merge-base", start.strip(), "HEAD", fails=False).strip() or start.strip()
    changed = _git(folder, "diff", "--name-only", "-z", "--no-renames", base, "--")
    fresh = _git(folder, "ls-files", "-z", "--others", "--exclude-standard", "--full-name", "--", top)
    names = (name for listed in (changed, fresh) for name in listed.split("\0") if name)
    every = _with_importers(os.path.realpath(os.path.join(top, name)) for name in names)
    return tuple(file for file in files if os.path.realpath(file.path) in every)


def _with_importers(changed: Iterable[str]) -> set[str]:
    """Files and whoever imports them; one that is gone is imported by nobody that can be found by its path."""
    found, waiting = set[str](), list(changed)
    while waiting:
        file = waiting.pop()
        if file not in found:
            found.add(file)
            waiting += map(os.path.realpath, importers(file) if file.endswith(".py") else ())
    return found


def _git(folder: str, *words: str, why: str = "", fails: bool = True) -> str:
    """What Git says. Raises SettingsError; where it may not fail, nothing is said instead."""
    try:
        done = subprocess.run(["git", *words], cwd=folder, capture_output=True)
    except OSError as error:
        raise SettingsError(f"--since asks Git, which cannot be run: {error.strerror or error}") from None
    if done.returncode and fails:
        said = os.fsdecode(done.stderr).strip().splitlines()
        raise SettingsError(f"--since: {said[-1] if said else f'`{why}` is no commit of this repository'}")
    return os.fsdecode(done.stdout) if not done.returncode else ""
