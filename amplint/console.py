"""What is said to people and programs: text to stdout or to a file, remarks to stderr."""

from __future__ import annotations

import sys
from pathlib import Path

from amplint.arguments import Refused


def write(text: str, file: str | None, errors: str = "backslashreplace") -> int:
    """Write to a file or to stdout, where what its encoding lacks is escaped. Raises Refused."""
    if file is None and errors == "surrogateescape":  # bytes, as they are
        sys.stdout.buffer.write(text.encode("utf-8", errors))
        sys.stdout.flush()
        return 0
    if file is None:
        encoding = sys.stdout.encoding or "utf-8"
        sys.stdout.write(text.encode(encoding, errors).decode(encoding))
        sys.stdout.flush()
        return 0
    try:
        Path(file).write_text(text, encoding="utf-8", errors=errors, newline="\n")
    except OSError as error:
        raise Refused(f"{file} cannot be written: {error.strerror or error}") from None
    return 0


def say(line: str, code: int = 0) -> int:
    """Say a line on stderr, and give back the code."""
    sys.stderr.write(f"amplint: {line}\n")  # stderr escapes what its encoding lacks
    return code
