"""Conditions that hold on some of the processes that train one model together, and on others not, by their texts."""

from __future__ import annotations

import re
from functools import lru_cache
from itertools import product

SOME_RANKS = "on some ranks"
"""The detail of a step that stands under such a condition: its text."""

_ASIDE = frozenset("is on get global local world node dist ddp only".split())
"""Words beside the name of a rank, or of the first one."""

_RANK = frozenset({("rank",), ("ordinal",), ("process", "rank"), ("proc", "rank"), ("process", "index")})
_FIRST = frozenset(
    {
        *product(("main", "master", "primary", "chief", "root"), ("process", "proc", "rank", "ordinal")),
        *product(("rank", "process", "proc"), ("zero", "0")),
        *product(("rank0", "process0", "proc0")),
        *product(("zero",), ("rank", "process")),
    }
)
_ITSELF = frozenset({("is", "master"), ("is", "primary"), ("is", "chief"), ("global", "zero"), ("local", "zero")})

_KEY = re.compile(r"\['(?P<item>\w+)'\]$|(getenv|environ\.get)\('(?P<variable>\w+)'")
_COMPARISONS = ("==", "!=", "is not", "is", "not in", "in", "<=", "<", ">=", ">")
_PICKS = frozenset({("<=", "0"), ("<", "1")})
"""Of the comparisons of a rank with a number by size, those that pick the first out: a mere number above 0 may be the
rank of a matrix."""


@lru_cache(maxsize=4096)
def tells_ranks_apart(text: str) -> bool:
    """Whether a condition, by its text, is true on one rank, or some, and not on the others."""
    name, how, other = _split(text)
    if not how:
        return _is_first(_last(name))
    by_size, several = how[0] in "<>", how not in ("in", "not in") and other in ("-1", "None")
    return asks_rank(text) and ((how, other) in _PICKS if by_size else not several)


@lru_cache(maxsize=4096)
def asks_rank(text: str) -> bool:
    """Whether a condition, by its text, asks for the rank, if only for whether there is one."""
    name, how, _ = _split(text)
    last = _last(name)
    return _kernel(last) in _RANK or (not how and _is_first(last))


def _split(text: str) -> tuple[str, str, str]:
    """What a condition compares, how, and with what; only the first where it compares nothing."""
    for how in _COMPARISONS:
        name, found, other = text.partition(f" {how} ")
        if found:
            return name, how, other
    return text, "", ""


def _is_first(name: str) -> bool:
    return _kernel(name) in _FIRST or _words(name)[-2:] in _ITSELF


def _kernel(name: str) -> tuple[str, ...]:
    """What is left of a name without the words beside it."""
    return tuple(word for word in _words(name) if word not in _ASIDE)


def _words(name: str) -> tuple[str, ...]:
    return tuple(name.lower().strip("_").split("_"))


def _last(name: str) -> str:
    """The last part of a name, or the key of what is looked up."""
    key = _KEY.search(name)
    return key["item"] or key["variable"] if key else name.partition("(")[0].rpartition(".")[2].partition("[")[0]
