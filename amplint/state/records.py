"""Small objects of the standard library: named tuples and what else is replaced and not changed, and queues."""

from __future__ import annotations

from collections.abc import Iterable

from amplint.flow import program as ir
from amplint.state.scopes import Scope
from amplint.state.values import Class, Keywords, Symbol, Value

REPLACE = frozenset({"_replace", "model_copy"})
"""Methods that return a copy with other values; `model_copy(update={...})` is pydantic's (2.0)."""


def named_tuple(args: list[Value]) -> Value:
    """The class that `namedtuple("State", "k n")` makes, or `namedtuple("State", ["k", "n"])`."""
    names = args[1].replace(",", " ").split() if len(args) > 1 and isinstance(args[1], str) else args[1:2]
    names = list(names[0]) if names and isinstance(names[0], (list, tuple)) else names
    if not args or not names or not all(isinstance(name, str) for name in (args[0], *names)):
        return Symbol("namedtuple(...)")
    return Class(ir.Class(ir.NOWHERE, args[0], (), ()), Scope(), fields=tuple(names))


def changes(method: str, keywords: Keywords) -> Value:
    """The other values that the copy gets which a method returns, by attribute."""
    return keywords.get("update", {}) if method == "model_copy" else keywords


class Latest(list[Value]):
    """The last so many values that were put into it, how many is perhaps not known: a queue of limited length."""

    longest: int | None

    def __init__(self, values: Iterable[Value], longest: Value) -> None:
        super().__init__(values)
        self.longest = longest if isinstance(longest, int) else None
