"""Functions and classes that are looked up in a table by a run constant: `SCHEDULES[args.schedule](optimizer)`."""

from __future__ import annotations

from amplint.dialects.constructors import role_of
from amplint.dialects.schedules import MEMBER
from amplint.state import truths
from amplint.state.contexts import Partial
from amplint.state.run import Run
from amplint.state.values import (
    Class,
    Condition,
    Criterion,
    Function,
    Incomplete,
    Origin,
    Public,
    Symbol,
    Value,
)

MOST = 4
"""Members of a table that are told apart: each more doubles what has to be tried."""

_MADE_OR_RUN = (Function, Class, Public, Partial, Criterion)


def member(run: Run, table: Value, key: Value) -> Value:
    """What stands in a table under a key that is not known, and is the same all the time: one after the other is tried.

    None where that is not known: of too many, of a table that may hold others, of what is not called.
    """
    if isinstance(table, Public):
        name = f"{table.name}{MEMBER}"
        return Public(name) if role_of(name) is not None else None
    asked = truths.as_setting(run, key)
    if not (isinstance(table, dict) and isinstance(asked, Symbol) and _can_be_told_apart(table, asked)):
        return None
    *first, last = table.items()
    found = next((value for known, value in first if truths.truth(run, Condition("==", (asked, known)))), None)
    if found is not None:
        return found
    truths.settle(run, asked, last[0])
    return last[1]


def get(run: Run, table: dict[Value, Value], args: list[Value]) -> Value:
    """`table.get(key, default)`, in the same way; None where that is not known."""
    asked = truths.as_setting(run, args[0])
    if not _can_be_told_apart(table, asked):
        return None
    equal = (value for known, value in table.items() if truths.truth(run, Condition("==", (asked, known))))
    return next(equal, args[1] if len(args) > 1 else Symbol("None"))


def _can_be_told_apart(table: dict[Value, Value], key: Value) -> bool:
    """Whether a table has few members, all of them called or dtypes, and its key is not known, but does not change."""
    if isinstance(table, Incomplete) or not 0 < len(table) <= MOST:
        return False
    if not isinstance(key, Symbol) or key.origin is not Origin.RUN:
        return False
    return all(isinstance(value, _MADE_OR_RUN) and isinstance(known, str) for known, value in table.items())
