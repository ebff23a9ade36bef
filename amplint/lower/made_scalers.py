"""Which scalers are made, and which methods of a class run when another one does."""

from __future__ import annotations

from collections.abc import Mapping

from amplint.dialects.syntax import PLAIN_SCALERS
from amplint.flow import program as ir
from amplint.lower.names import reaches
from amplint.lower.scopes import Scope


def makes_plain(value: ir.Expr, scope: Scope) -> bool:
    """Whether a value is a new scaler of torch's, though perhaps in one case only."""
    values = (value.yes, value.no) if isinstance(value, ir.Choice) else (value,)
    made = (scope.qualified(one.func) for one in values if isinstance(one, ir.Call))
    return not PLAIN_SCALERS.isdisjoint(made)


def reached(methods: Mapping[str, ir.Function], name: str) -> set[str]:
    """The methods that one runs, itself included."""
    waiting, found = [name], set[str]()
    while waiting:
        here = waiting.pop()
        if here in methods and here not in found:
            found.add(here)
            waiting += [called.lstrip(".") for called in reaches(methods[here])]
    return found
