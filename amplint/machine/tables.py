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
    if not isinstance(table, dict) or isinstance(table, Incomplete) or not 0 < len(table) <= MOST:
        return None
    if not isinstance(key, Symbol) or key.origin is not Origin.RUN:
        return None
    if not all(isinstance(value, _MADE_OR_RUN) and isinstance(known, str) for known, value in table.items()):
        return None
    *first, last = table.items()
    found = next((value for known, value in first if truths.truth(run, Condition("==", (key, known)))), None)
    if found is not None:
        return found
    truths.settle(run, key, last[0])
    return last[1]
