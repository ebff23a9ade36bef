"""What a test asks that cannot be followed, as far as its text says."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from amplint.dialects import vocabulary as words
from amplint.dialects.vocabulary import within
from amplint.state.counts import ORDERS, Turn
from amplint.state.truths import origin_of
from amplint.state.values import Condition, Origin, Symbol, Value, text_of

if TYPE_CHECKING:
    from amplint.state.run import Run

_SIZE = re.compile(r"(?i)norm\w*(\(\.\.\.\))? ([<>])=? ")
_FINITE = within(words.FINITE, words.OVERFLOWING)


def of_a_later_epoch(test: Value, holds: bool) -> bool:
    """Whether a test that holds, or does not, says that epochs have passed which are not played: the number of an epoch
    is beyond a setting."""
    if not isinstance(test, Condition):
        return False
    if test.op == "not":
        return of_a_later_epoch(test.parts[0], not holds)
    if test.op in ("and", "or"):
        return holds is (test.op == "and") and any(of_a_later_epoch(part, holds) for part in test.parts)
    first, second = (*test.parts, None, None)[:2]
    turn, limit = (first, second) if isinstance(first, Turn) else (second, first)
    if not isinstance(turn, Turn) or not isinstance(limit, Symbol) or test.op not in ORDERS:
        return False
    return holds is ((test.op in (">", ">=")) is (turn is first))


def may_count(value: Value) -> bool:
    """Whether a test that cannot be followed may be a window's: it can change, or was called for, and
    does not look for overflows."""
    if not isinstance(value, (Symbol, Condition)):
        return False
    origin = value.origin if isinstance(value, Symbol) else origin_of(value.parts)
    return (origin is not Origin.RUN or "(" in text_of(value)) and not asks_finite(value)


def of_this_batch(value: Value) -> bool:
    """Whether a test asks what was computed from the batch, or whether code that is not seen has given anything."""
    if isinstance(value, Condition):
        origin = origin_of(value.parts)
        return origin is Origin.DATA or (value.op in ("is", "is not") and origin is Origin.OPAQUE)
    return isinstance(value, Symbol) and value.origin is Origin.DATA


def is_setting(symbol: Symbol) -> bool:
    """Whether a flag is what it is for the whole run, by who holds it or what it ends with."""
    *holders, _ = symbol.text.split(".")
    last = words.words(symbol.name)[-1:]
    return "(" not in symbol.text and (any(map(_SETTINGS, holders)) or any(map(_CONSTANT, last)))


def asks_the_moment(value: Value) -> bool:
    """Whether a test asks an object that is not seen, which may answer otherwise later: by a call, or an attribute that
    is neither a setting nor the own one of the object whose method runs."""
    if not isinstance(value, Symbol) or is_setting(value) or value.name == "training":
        return False
    return "(" in value.text or value.text.removeprefix("self.").count(".") > 0


_SETTINGS, _CONSTANT = within(words.SETTINGS), within(words.CONSTANT)


def asks_caller(run: Run, value: Value) -> bool:
    """Whether a test asks what a function that is called for each batch was handed, but for whether it was."""
    if isinstance(value, Condition):
        return value.op not in ("is", "is not") and any(asks_caller(run, part) for part in value.parts)
    return isinstance(value, Symbol) and value.text in run.per_call


def asks_finite(value: Value) -> bool:
    """Whether a test looks for numbers that are not finite."""
    return isinstance(value, (Symbol, Condition)) and _FINITE(text_of(value))


def found_too_large(value: Value, taken: bool) -> bool:
    """Whether it is so, where a test came out as it did, that gradients are too large: their norm is beyond a limit."""
    if not isinstance(value, Condition):
        return False
    if value.op == "not":
        return found_too_large(value.parts[0], not taken)
    asked = _SIZE.search(text_of(value))
    return asked is not None and taken is (asked[2] == ">")
