"""The bytes of a file, and the text that Python would see in them."""

from __future__ import annotations

import io
import os
from collections.abc import Callable

from amplint.source.asked import given

LIMIT = 1 << 20  # bytes; no training loop written by people comes near it, and parsers are slow far below it
LIMIT_WITH_OUTPUTS = 1 << 26  # bytes of a notebook, which holds pictures too; its code may be as long as any
_SEARCHED = 1 << 26  # bytes of a larger file that are looked at to tell whether it matters


class Unreadable(Exception):
    """A file that cannot be checked: at which row it shows, and why."""

    def __init__(self, why: str, row: int = 1) -> None:
        super().__init__(why)
        self.why = why
        self.row = row


class Unparsable(Exception):
    """The text is not Python that LibCST understands. Rows and columns count from 1. `taken`: Python understands it."""

    def __init__(self, row: int, column: int, why: str, taken: bool = False) -> None:
        super().__init__(f"{row}:{column}: {why}")
        self.row, self.column, self.why, self.taken = row, column, why, taken


def read(path: str, wanted: Callable[[bytes], bool], limit: int = LIMIT) -> bytes | None:
    """The bytes of a file that is wanted for what it holds, else None.

    Raises Unreadable for a file that cannot be opened, and for a wanted one over the limit.
    """
    held = given(path)
    if held is not None:
        return held if wanted(held) else None
    try:
        with open(path, "rb", buffering=0) as file:
            over = os.fstat(file.fileno()).st_size > limit
            data = file.read(_SEARCHED) if over else file.readall()
    except OSError as error:
        raise Unreadable(f"the file cannot be read: {error.strerror or error}") from None
    if not wanted(data):
        return None
    if over:
        raise Unreadable(f"the file is larger than {limit >> 20} MiB")
    return data


def decoded(data: bytes) -> str:
    """The text as Python reads it (byte order mark, coding line, else UTF-8), its line ends as they are.

    Raises Unreadable where Python could not read it either.
    """
    from tokenize import detect_encoding

    if b"\0" in data:
        row = data.count(b"\n", 0, data.index(b"\0")) + 1
        raise Unreadable("the file holds a NUL byte, which Python source cannot", row)
    try:
        encoding, _ = detect_encoding(io.BytesIO(data).readline)
    except SyntaxError as error:
        raise Unreadable(f"the file cannot be decoded: {error.msg}") from None
    try:
        return data.decode(encoding)
    except UnicodeDecodeError as error:
        row = data.count(b"\n", 0, error.start) + 1
        raise Unreadable(f"the file is not valid {encoding}: byte 0x{data[error.start]:02x}", row) from None
    except (LookupError, UnicodeError):
        raise Unreadable(f"the file cannot be decoded: {encoding} is not an encoding of text") from None
