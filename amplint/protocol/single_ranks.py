"""Conditions that hold on some of the processes that train one model together, and on others not, by their texts."""

from __future__ import annotations

import re
from functools import lru_cache

SOME_RANKS = "on some ranks"
"""The detail of a step that stands under such a condition: its text."""

_FIRST = re.compile(
    r"(?i)_*(is_|on_)?(global_|local_|world_|node_)?"
    r"((main|master|primary|chief|root)_(process|proc|rank|ordinal)|(?<=is_)(master|primary|chief)|global_zero|local_zero"
    r"|(rank|process|proc)_?(zero|0)|zero_(rank|process))(_only)?$"
)
_RANK = re.compile(
    r"(?i)_*(get_)?((dist|global|local|world|node|ddp|process|proc)_)*(rank|ordinal)$|(local_)?process_index$"
)
_KEY = re.compile(r"\['(?P<item>\w+)'\]$|(getenv|environ\.get)\('(?P<variable>\w+)'")
_COMPARED = re.compile(r" (==|!=|is not|is|not in|in|<=|<|>=|>) ")
_PICKS = re.compile(r"(==|!=|is not|is(?! not)) (?!-1$|None$)|(not )?in |<= 0$|< 1$")
"""Comparisons of a rank that pick one out, or some: others tell whether there are several at all, and a mere number
above 0 may be the rank of a matrix."""


@lru_cache(maxsize=4096)
def tells_ranks_apart(text: str) -> bool:
    """Whether a condition, by its text, is true on one rank, or some, and not on the others."""
    name, *rest = _COMPARED.split(text, maxsplit=1)
    return asks_rank(text) and bool(_PICKS.match(" ".join(rest)) if rest else _FIRST.match(_last(name)))


@lru_cache(maxsize=4096)
def asks_rank(text: str) -> bool:
    """Whether a condition, by its text, asks for the rank, if only for whether there is one."""
    name, *rest = _COMPARED.split(text, maxsplit=1)
    return bool(_RANK.match(_last(name)) or (not rest and _FIRST.match(_last(name))))


def _last(name: str) -> str:
    """The last part of a name, or the key of what is looked up."""
    key = _KEY.search(name)
    return key["item"] or key["variable"] if key else name.partition("(")[0].rpartition(".")[2].partition("[")[0]
