"""The conditions that a mistake needs: as few as tell the runs that show it from those that do not, and in words."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from itertools import combinations

MOST = 3
"""Conditions that a message names."""

_WIDE = 24  # of so many conditions all sets of a size are tried
_STRANGE = re.compile(r"#\d|isinstance\(|hasattr\(|len\(|\.\.\.|%")

Choices = Mapping[str, bool]
Condition = tuple[str, bool]


def needed(shown: Sequence[Choices], others: Sequence[Choices], open_: AbstractSet[str]) -> tuple[Condition, ...]:
    """The choices that all runs in `shown` made, as few as each of the `others` has made at least one of otherwise.

    What nobody asked in a run was not decided otherwise, unless another answer settles it, or nothing else sets that
    run apart. `open_`: what depends on the batches or on code that was not followed; it is named last.
    """
    common = {key: value for key, value in shown[0].items() if all(run.get(key) is value for run in shown)}
    apart = {_apart(common, run) for run in others} - {frozenset()}
    keys = [key for key in common if any(key in one for one in apart)]
    ranked = sorted(keys, key=lambda key: (key in open_, bool(_STRANGE.search(key))))
    chosen = _fewest(ranked, apart)
    return tuple((key, common[key]) for key in keys if key in chosen)


def _apart(common: Choices, other: Choices) -> frozenset[str]:
    """The choices that set a run apart."""
    settled = {**_settled(other, common), **other}
    decided = frozenset(key for key, value in common.items() if settled.get(key, value) is not value)
    return decided or frozenset(common.keys() - other.keys())


def _settled(run: Choices, keys: Iterable[str]) -> dict[str, bool]:
    """What a run answers without having been asked: what equals one literal equals no other one."""
    equal = {same[1]: same[2] for key, value in run.items() if value and (same := _EQUALITY.match(key))}
    asked = ((key, same) for key in keys if (same := _EQUALITY.match(key)))
    return {key: False for key, same in asked if equal.get(same[1], same[2]) != same[2]}


def _fewest(ranked: Sequence[str], apart: AbstractSet[frozenset[str]]) -> frozenset[str]:
    """As few keys as hold one of each set, the first ones first; where there are many, one that most sets have."""
    for size in range(MOST + 1 if len(ranked) <= _WIDE else 0):
        for keys in combinations(ranked, size):
            if all(not one.isdisjoint(keys) for one in apart):
                return frozenset(keys)
    chosen: set[str] = set()
    while left := [one for one in apart if one.isdisjoint(chosen)]:
        chosen.add(max(ranked, key=lambda key: sum(key in one for one in left)))
    return frozenset(chosen)


_EQUALITY = re.compile(r"^((?:(?! (?:and|or|not|==) ).)+) == ('[^']*'|-?\d[\d.]*)$")
"""That something equals a literal."""

_OPPOSITE = {"==": "!=", "is": "is not", "in": "not in", ">=": "<", ">": "<="}
_COMPARISON = re.compile(rf"^((?:(?! (?:and|or|not) ).)+?) ({'|'.join(_OPPOSITE)}) (\S+|'[^']*')$")


_OF_A_LIBRARY = re.compile(r"^[A-Za-z ]+'s ")
"""A setting that a library keeps to itself: `the engine's fp16`."""

_COMPUTED = re.compile(r" (?:[-+*/%@]|//|\*\*) |\[\*\]")
"""What a condition is computed from: its text has lost the brackets, or names that the program does not."""

_LOST = re.compile(r"\b(?:int|float|bool)\(|[()\s\"']")
"""What the text of a condition has lost of how the program writes it."""


def in_words(conditions: Iterable[Condition], lines: Iterable[str] = ()) -> str:
    """Conditions as a message names them, in the program's own words where it asks for them, empty if there are none;
    of computed ones only those that it asks for."""
    known = list(conditions)
    asked = _asked(tuple(lines)) if known else {}
    said = [
        _in_words(asked.get(_LOST.sub("", key), key), value)
        for key, value in known
        if not _COMPUTED.search(key) or _LOST.sub("", key) in asked
    ]
    return f" (when {' and '.join(said[:MOST])})" if said else ""


@lru_cache(maxsize=8)
def _asked(lines: tuple[str, ...]) -> Mapping[str, str]:
    """What a program asks, as it writes it, by that without what a condition's text has lost."""
    try:
        tree = ast.parse("\n".join(line.rstrip("\r\n") for line in lines))
    except (SyntaxError, ValueError, RecursionError):
        return {}
    tests = [node.test for node in ast.walk(tree) if isinstance(node, (ast.If, ast.While, ast.IfExp, ast.Assert))]
    found = (ast.unparse(part) for test in tests for part in _parts(test))
    return {_LOST.sub("", text): text for text in found}


def _parts(test: ast.expr) -> Iterator[ast.expr]:
    """What a test is made of by `and`, `or` and `not`."""
    inner = test.values if isinstance(test, ast.BoolOp) else [test.operand] if isinstance(test, ast.UnaryOp) else []
    yield test
    for part in inner:
        yield from _parts(part)


def _in_words(key: str, value: bool) -> str:
    """A comparison as it comes out, of anything else whether it is true; what no program says in plain words."""
    found = _COMPARISON.match(key)
    if _OF_A_LIBRARY.match(key):
        return f"{found[1]} is{'' if value else ' not'} {found[3]}" if found else f"{key} is {'on' if value else 'off'}"
    if found is None:
        return f"`{key}` is {'true' if value else 'false'}"
    return f"`{found[1]} {found[2] if value else _OPPOSITE[found[2]]} {found[3]}`"
