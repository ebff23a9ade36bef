"""Files written whole or not at all, and the patch that would do the same."""

from __future__ import annotations

import os
import re
import stat
import tempfile
from contextlib import suppress
from difflib import unified_diff

_LINES = re.compile(r"[^\n]*\n|[^\n]+")


class Changed(Exception):
    """Somebody else has written the file since it was read."""


def replace_file(path: str, before: bytes, after: bytes) -> None:
    """Writes a file in one step, so that whoever reads it sees all of it, old or new. Raises Changed, OSError.

    Its permissions are kept, and a link stays a link: what it points at is written.
    """
    if before == after:
        return
    target = os.path.realpath(path)
    about = os.stat(target)
    if not os.access(target, os.W_OK):
        raise PermissionError(13, "Permission denied", path)
    descriptor, temporary = tempfile.mkstemp(prefix=".amplint-", dir=os.path.dirname(target))
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(after)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, stat.S_IMODE(about.st_mode))
        with suppress(OSError, AttributeError):  # only root may give files away, and not every system has owners
            os.chown(temporary, about.st_uid, about.st_gid)
        with open(target, "rb") as file:
            if file.read() != before:
                raise Changed(path)
        os.replace(temporary, target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def patch(path: str, before: bytes, after: bytes) -> str:
    """The change of a file as `git apply` takes it; empty if there is none.

    Bytes that are not UTF-8 are surrogates, to be written as they were.
    """
    if before == after:
        return ""
    name = os.path.relpath(path).replace(os.sep, "/")
    old, new = (_LINES.findall(data.decode("utf-8", "surrogateescape")) for data in (before, after))
    lines = unified_diff(old, new, f"a/{name}", f"b/{name}")
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)
