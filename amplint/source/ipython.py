"""A cell of IPython's dialect in plain Python, line for line.

IPython's own commands are left out (`!pip install x`, `%matplotlib inline`, `help?`), and cells that another program
runs (`%%bash`, `%%writefile train.py`) are empty. The code that a command runs stays: `%time train()` is `train()`, and
a cell under `%%time` is that cell.
https://ipython.readthedocs.io/en/9.7.0/config/inputtransforms.html
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from amplint.source.lines import lines_of

Moved = tuple[str, int]
"""A line of Python, and how many columns further left than in the cell it starts."""

_RUN_HERE = frozenset({"capture", "debug", "ipytest", "memit", "prun", "time", "timeit", "wandb"})
"""Cell magics that run their cell in the notebook's own process."""

_CELL_MAGIC = re.compile(r"%%(\w+)")
_BEFORE_CODE = re.compile(r"(?P<indent>[ \t]*)%(?:time|timeit|prun|memit)(?:[ \t]+-\w+(?:[ \t]+\d+)?)*[ \t]+(?=\S)")
_COMMAND = re.compile(r"[ \t]*(?:%|!|\?|[,;/](?=\w))")
_QUESTION = re.compile(r"[ \t]*%{0,2}[A-Za-z_*][\w.*\[\]-]*\?{1,2}[ \t]*;?[ \t]*$")
_BARE = re.compile(
    r"(?:autoreload|cat|cd|conda|cp|env|git|less|ll|load_ext|ls|mamba|matplotlib|micromamba|mkdir|mv|pip3?|reload_ext|rm"
    r"|rmdir|run|uv|wget)[ \t]+[\w./~$%{\"'-]"
)
"""Commands that people write without their sign, where that is no Python."""

_ASSIGNED = re.compile(r"(?P<target>[ \t]*[\w.,\[\] \t]+=[ \t]*)(?:!|%(?=\w))")
_TOKEN = re.compile(r"(?P<quote>\"{3}|'{3}|\"|')|(?P<comment>#)|(?P<open>[(\[{])|(?P<close>[)\]}])|(?P<joined>\\$)")
_ENDS = {quote: re.compile(rf"\\.|{quote}") for quote in ('"""', "'''", '"', "'")}


def plain(cell: str) -> list[Moved]:
    """The cell, as many lines, in plain Python. What is not IPython's stays as it is, Python or not."""
    lines, indents = _without_indent(lines_of(cell))
    first = next((at for at, line in enumerate(lines) if line.strip() and not line.lstrip().startswith("#")), 0)
    while first < len(lines) and (magic := _CELL_MAGIC.match(lines[first])):
        if magic[1] not in _RUN_HERE:
            return [("", 0) for _ in lines]
        lines[first] = ""
        first += 1
    return [(line, shift + indent) for (line, shift), indent in zip(_statements(lines), indents, strict=True)]


def _without_indent(lines: Sequence[str]) -> tuple[list[str], list[int]]:
    """The lines without the indentation of the first one that is not empty, and how long it was on each.

    IPython takes it off every line that begins with it, since 9.18 off all lines or none (`leading_indent`).
    """
    first = next((line for line in lines if line.strip()), "")
    indent = first[: len(first) - len(first.lstrip())]
    lengths = [len(indent) * line.startswith(indent) for line in lines]
    return [line[length:] for line, length in zip(lines, lengths, strict=True)], lengths


def _statements(lines: Sequence[str]) -> Iterator[Moved]:
    at = 0
    while at < len(lines):
        line = lines[at]
        before = _BEFORE_CODE.match(line)
        command = not before and any(found.match(line) for found in (_COMMAND, _QUESTION, _BARE, _ASSIGNED))
        end = _command_end(lines, at) if command else _statement_end(lines, at)
        if before:
            yield before["indent"] + line[before.end() :], before.end() - len(before["indent"])
        else:
            yield (_without_command(line) if command else line), 0
        yield from (("" if command else more, 0) for more in lines[at + 1 : end])
        at = end


def _without_command(line: str) -> str:
    """A statement that does nothing, or that assigns what nobody knows."""
    assigned = _ASSIGNED.match(line)
    if assigned:
        return f"{assigned['target']}get_ipython()"
    return f"{line[: len(line) - len(line.lstrip())]}pass"


def _command_end(lines: Sequence[str], at: int) -> int:
    while at < len(lines) and lines[at].endswith("\\"):
        at += 1
    return min(at + 1, len(lines))


def _statement_end(lines: Sequence[str], first: int) -> int:
    """The line after a statement: strings of several lines and open brackets belong to it."""
    depth, quote = 0, ""
    for at in range(first, len(lines)):
        depth, quote, joined = _after(lines[at], depth, quote)
        if not (depth > 0 or quote or joined):
            return at + 1
    return len(lines)


def _after(line: str, depth: int, quote: str) -> tuple[int, str, bool]:
    """How deep in brackets and in which string a line ends, and whether it is joined to the next."""
    at = 0
    while True:
        found = (_ENDS[quote] if quote else _TOKEN).search(line, at)
        if found is None:
            return depth, quote if len(quote) == 3 or line.endswith("\\") else "", False
        at = found.end()
        if quote:
            quote = "" if found[0] == quote else quote
        elif found["comment"]:
            return depth, "", False
        elif found["joined"]:
            return depth, "", True
        else:
            quote = found["quote"] or ""
            depth += bool(found["open"]) - bool(found["close"])
