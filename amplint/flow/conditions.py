"""The conditions that a mistake needs: as few as tell the runs that show it from those that do not, and in words."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from functools import lru_cache
from itertools import combinations

from amplint.flow.spelling import OFF, ON

MOST = 3
"""Conditions that a message names."""

_WIDE = 24  # of so many conditions all sets of a size are tried
_STRANGE = re.compile(r"#\d|isinstance\(|hasattr\(|len\(|\.\.\.|%")

Choices = Mapping[str, bool]
Condition = tuple[str, bool]


def needed(shown: Sequence[Choices], others: Sequence[Choices], open_: AbstractSet[str]) -> tuple[Condition, ...]:
    """The choices that all runs in `shown` made, as few as each of the `others` has made at least one of otherwise.

    What nobody asked in a run was not decided otherwise, unless another answer settles it, or nothing else sets that
    run apart. `open_`: what depends on the batches or on code that was not followed; it is named last. What something
    equals says more than one thing that it does not equal.
    """
    common = {key: value for key, value in shown[0].items() if all(run.get(key) is value for run in shown)}
    apart = {_apart(common, run) for run in others} - {frozenset()}
    keys = [key for key in common if any(key in one for one in apart)]
    named = {same[1] for key in keys if common[key] and (same := _EQUALITY.match(key))}
    less = {key for key in keys if not common[key] and (same := _EQUALITY.match(key)) and same[1] in named}
    ranked = sorted(keys, key=lambda key: (key in open_, bool(_STRANGE.search(key)), key in less))
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

_POSITIVE = {"!=": "==", "is not": "is", "not in": "in", "<": ">=", "<=": ">"}
_OPPOSITE = {"==": "!=", "is": "is not", "in": "not in", ">=": "<", ">": "<="} | _POSITIVE
_EITHER = "|".join(sorted(_OPPOSITE, key=len, reverse=True))
_COMPARISON = re.compile(rf"^((?:(?! (?:and|or|not) ).)+?) ({_EITHER}) (\S+|'[^']*'|[({{\[][^()\[\]{{}}]*[\]}})])$")
_OPERATORS: Mapping[type[ast.cmpop], str] = {
    ast.Eq: "==",
    ast.NotEq: "!=",
    ast.Is: "is",
    ast.IsNot: "is not",
    ast.In: "in",
    ast.NotIn: "not in",
    ast.Lt: "<",
    ast.LtE: "<=",
    ast.Gt: ">",
    ast.GtE: ">=",
}


_OF_A_LIBRARY = re.compile(r"^[A-Za-z ]+'s ")
"""A setting that a library keeps to itself: `the engine's fp16`."""

_COMPUTED = re.compile(r" (?:[-+*/%@]|//|\*\*) |\[\*\]")
"""What a condition is computed from: its text has lost the brackets, or names that the program does not."""

_MODULE = re.compile(r"[a-z_]\w*\.(?=[\w.]+\()")
"""The first part of the name of a function."""

_LOST = re.compile(r"\b(?:int|float|bool)\(|[()\s\"']")
"""What the text of a condition has lost of how the program writes it."""


def in_words(conditions: Iterable[Condition], lines: Iterable[str] = ()) -> str:
    """Conditions as a message names them, in the program's own words where it asks for them, empty if there are none;
    of computed ones only those that it asks for."""
    known = list(conditions)
    asked = _asked(tuple(lines)) if known else {}
    written = ((_as_asked(key, asked), key, value) for key, value in known)
    said = [_in_words(text or key, value) for text, key, value in written if text or not _COMPUTED.search(key)]
    return f" (when {' and '.join(dict.fromkeys(said[:MOST]))})" if said else ""


def _as_asked(key: str, asked: Mapping[str, str]) -> str | None:
    """A condition as the program asks it, which perhaps imports the names that it calls; None if it does not ask it."""
    while (text := asked.get(_LOST.sub("", key))) is None and (module := _MODULE.match(key)):
        key = key[module.end() :]
    return text


@lru_cache(maxsize=8)
def _asked(lines: tuple[str, ...]) -> Mapping[str, str]:
    """What a program asks, as it writes it, by that without what a condition's text has lost."""
    try:
        tree = ast.parse("\n".join(line.rstrip("\r\n") for line in lines))
    except (SyntaxError, ValueError, RecursionError):
        return {}
    nodes = list(ast.walk(tree))
    tests = [node.test for node in nodes if isinstance(node, (ast.If, ast.While, ast.IfExp, ast.Assert))]
    compared = [node for node in nodes if isinstance(node, ast.Compare)]
    found: dict[str, str] = {}
    for told in (_as_truths(compared), _members(compared), _positive(compared)):
        found |= {_LOST.sub("", key): text for key, text in told}
    return found | {_LOST.sub("", text): text for test in tests for part in _parts(test) if (text := ast.unparse(part))}


Told = Iterator[tuple[str, str]]
"""What a run decides, and how a program asks that."""


def _positive(compared: Iterable[ast.Compare]) -> Told:
    """Every comparison of two things, and what one that denies something denies."""
    for node in compared:
        if len(node.ops) == 1:
            text, (left, op, right) = ast.unparse(node), _sides(node)
            yield text, text
            if op in _POSITIVE:
                yield (positive := f"{left} {_POSITIVE[op]} {right}"), positive


def _as_truths(compared: Iterable[ast.Compare]) -> Told:
    """What is asked to be on or off, and how."""
    for node in compared:
        left, op, right = _sides(node)
        if f"{op} {right}" in ON:
            yield left, f"{left} {op} {right}"
        elif f"{op} {right}" in OFF:
            yield left, f"{left} {_OPPOSITE[op]} {right}"


def _sides(node: ast.Compare) -> tuple[str, str, str]:
    """What is compared, how, and with what: first of all, where it is compared with several."""
    return ast.unparse(node.left), _OPERATORS[type(node.ops[0])], ast.unparse(node.comparators[0])


def _members(compared: Iterable[ast.Compare]) -> Told:
    """The equality with each literal of a display that something is asked to be in."""
    for node in compared:
        display = node.comparators[0]
        if isinstance(node.ops[0], (ast.In, ast.NotIn)) and isinstance(display, (ast.Set, ast.Tuple, ast.List)):
            asked, whole = ast.unparse(node.left), ast.unparse(display)
            yield from ((f"{asked} == {ast.unparse(one)}", f"{asked} in {whole}") for one in display.elts)


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
