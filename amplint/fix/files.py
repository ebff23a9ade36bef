"""Files written whole or not at all, and the patch that would do the same."""

from __future__ import annotations

import errno
import os
import re
import signal
import stat
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from difflib import unified_diff

_LINES = re.compile(r"[^\n]*\n|[^\n]+")
_UNPRINTABLE = re.compile(r'[\x00-\x1f"\\\x7f]')


class Changed(Exception):
    """Somebody else has written the file since it was read."""


def replace_file(path: str, before: bytes, after: bytes) -> None:
    """Writes a file in one step, so that whoever reads it sees all of it, old or new. Raises Changed, OSError.

    Its permissions are kept, and a link stays a link: what it points at is written. Another name of the same file (a
    hard link) keeps what it had: package managers and backups link so, and must not see what they hold change.
    """
    if before == after:
        return
    target = os.path.realpath(path)
    if not (os.access(target, os.W_OK) and os.stat(target).st_mode & 0o222):  # root may write whatever it has locked
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
    with _undisturbed():
        _replace(target, before, after)


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Interrupts and the end of the process wait until the block is done, where the system can have them wait."""
    if not hasattr(signal, "pthread_sigmask"):
        yield
        return
    held = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT, signal.SIGTERM, signal.SIGHUP})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, held)


def _replace(target: str, before: bytes, after: bytes) -> None:
    about = os.stat(target)
    descriptor, temporary = tempfile.mkstemp(prefix=".amplint-", dir=os.path.dirname(target))
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(after)
            file.flush()
            os.fsync(file.fileno())
        with suppress(OSError, AttributeError):  # only root may give files away, and not every system has owners
            os.chown(temporary, about.st_uid, about.st_gid)
        os.chmod(temporary, stat.S_IMODE(about.st_mode))
        _keep_attributes(target, temporary)
        with open(target, "rb") as file:
            if file.read() != before:
                raise Changed(target)
        os.replace(temporary, target)
    except BaseException:
        with suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def _keep_attributes(source: str, target: str) -> None:
    """What a file has besides its permissions, access lists among it, as far as the system lets it be copied."""
    with suppress(OSError, AttributeError):  # not every system has any
        for name in os.listxattr(source):
            with suppress(OSError):
                os.setxattr(target, name, os.getxattr(source, name))


def patch(path: str, before: bytes, after: bytes) -> str:
    """The change of a file as `git apply` takes it; empty if there is none.

    Bytes that are not UTF-8 are surrogates, to be written as they were.
    """
    if before == after:
        return ""
    name = os.path.relpath(path).replace(os.sep, "/")
    old, new = (_LINES.findall(data.decode("utf-8", "surrogateescape")) for data in (before, after))
    lines = unified_diff(old, new, _named(f"a/{name}"), _named(f"b/{name}"))
    return "".join(line if line.endswith("\n") else f"{line}\n\\ No newline at end of file\n" for line in lines)


def _named(name: str) -> str:
    """A name as Git writes it in a patch: in quotes, if there is no other way, and told apart from a date behind it."""
    if _UNPRINTABLE.search(name):
        return '"' + _UNPRINTABLE.sub(lambda found: _escaped(found[0]), name) + '"'
    return f"{name}\t" if " " in name else name


def _escaped(character: str) -> str:
    return f"\\{character}" if character in '"\\' else f"\\{ord(character):03o}"
