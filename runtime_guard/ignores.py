"""Comments in the user's source that silence a rule: `# amplint: ignore[rule]`, at the place or at an earlier one.

They are read when there is something to silence, not before.
"""

from __future__ import annotations

import io
import linecache
import re
import tokenize

from amplint.catalogue import RULES
from amplint.protocol.events import Site

_SPOKEN = re.compile(
    r"(?:(?:^|(?<=\s))#|;)\s*amplint:\s*(?P<verb>ignore-file|ignore)\s*"
    r"(?:\[(?P<rules>[^\]]*)\](?=\s|$|;)|(?=$|--|#|;))"
)


class Ignores:
    """The comments of the files read so far."""

    def __init__(self) -> None:
        self._files: dict[str, list[tuple[range | None, frozenset[str] | None]]] = {}

    def silence(self, rule: str, sites: tuple[Site, ...]) -> bool:
        """Whether a comment at one of the sites, or for its whole file, names the rule, its family or all rules."""
        known = RULES.get(rule)
        names = {rule, known.family} if known is not None else {rule}
        for site in sites:
            for rows, rules in self._of(site.path):
                if (rows is None or site.row in rows) and (rules is None or not names.isdisjoint(rules)):
                    return True
        return False

    def _of(self, path: str) -> list[tuple[range | None, frozenset[str] | None]]:
        if path not in self._files:
            text = "".join(linecache.getlines(path))
            self._files[path] = _read(text) if "amplint:" in text else []
        return self._files[path]


def _read(text: str) -> list[tuple[range | None, frozenset[str] | None]]:
    """The rows that each comment speaks for (None: the whole file) and the rules that it names (None: all)."""
    comments: list[tuple[int, re.Match[str]]] = []
    statements: dict[int, range] = {}
    first: int | None = None
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT:
                comments += [(token.start[0], found) for found in _SPOKEN.finditer(token.string)]
            elif token.type == tokenize.NEWLINE and first is not None:
                statements[first] = statements[token.end[0]] = range(first, token.end[0] + 1)
                first = None
            elif first is None and token.type not in (tokenize.NL, tokenize.INDENT, tokenize.DEDENT):
                first = token.start[0]
    except (tokenize.TokenError, SyntaxError):
        pass
    return [
        (
            None if found["verb"] == "ignore-file" else statements.get(row, range(row, row + 1)),
            None if found["rules"] is None else frozenset(name.strip() for name in found["rules"].split(",")),
        )
        for row, found in comments
    ]
