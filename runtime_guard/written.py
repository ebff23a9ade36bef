"""Files that the user has asked for. Whether they can be written is known before a run of hours; if one cannot be
written afterwards all the same, it is written elsewhere."""

from __future__ import annotations

import os
import shutil
import sys
import tempfile
from pathlib import Path

from runtime_guard.configuration import ConfigurationError


def promised(name: str | None) -> str | None:
    """The absolute path of a file that is to be written when the run is over: the script may go elsewhere. Raises
    ConfigurationError where it cannot be written."""
    if not name:
        return None
    path = Path(os.path.abspath(name))
    above = next((one for one in path.parents if one.exists()), path.parent)
    if path.is_dir():
        raise ConfigurationError(f"{name} is a directory; name a file")
    if not above.is_dir() or not os.access(path if path.exists() else above, os.W_OK):
        raise ConfigurationError(f"{name} cannot be written; name a file in a directory that can")
    return str(path)


def promised_folder(name: str | None) -> str | None:
    """The same of a directory."""
    if not name:
        return None
    path = Path(os.path.abspath(name))
    above = next((one for one in (path, *path.parents) if one.exists()), path)
    if not above.is_dir() or not os.access(above, os.W_OK | os.X_OK):
        raise ConfigurationError(f"{name} cannot be written; name a directory that can, or that can be made")
    return str(path)


def replace(path: Path, text: str) -> None:
    """Writes a file, and the directories above it, so that it is always whole: another one takes its place. What is no
    file (a terminal, a pipe) is written to. Raises OSError."""
    path = Path(os.path.realpath(path))
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.exists() and not path.is_file():
        path.write_text(text, encoding="utf-8")
        return
    beside = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        beside.write_text(text, encoding="utf-8")
        if path.exists():
            shutil.copymode(path, beside)
        os.replace(beside, path)
    finally:
        beside.unlink(missing_ok=True)


def write(path: Path, text: str) -> None:
    """Writes a file, and the directories above it; where that fails, a temporary one, and says so."""
    try:
        replace(path, text)
    except OSError as error:
        handle, name = tempfile.mkstemp(prefix=f"{path.stem}-", suffix=path.suffix)
        with open(handle, "w", encoding="utf-8") as file:
            file.write(text)
        sys.stderr.write(f"runtime_guard: {path}: {error.strerror or error}; what it was to hold is in {name}\n")
