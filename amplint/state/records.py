"""Small objects of the standard library: named tuples and what else is replaced and not changed, queues, and dicts that
fill themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import cast

from amplint.flow import program as ir
from amplint.state.scopes import Scope
from amplint.state.values import Class, Incomplete, Keywords, Symbol, Value

REPLACE = frozenset({"_replace", "model_copy"})
"""Methods that return a copy with other values; `model_copy(update={...})` is pydantic's (2.0)."""


def named_tuple(args: list[Value]) -> Value:
    """The class that `namedtuple("State", "k n")` makes, or `namedtuple("State", ["k", "n"])`."""
    name, fields = args[0] if args else None, _names(args[1]) if len(args) > 1 else ()
    if not isinstance(name, str) or not fields:
        return Symbol("namedtuple(...)")
    return Class(ir.Class(ir.NOWHERE, name, (), ()), Scope(), fields=fields)


def _names(written: Value) -> tuple[str, ...]:
    """The names of fields, in one text or one by one; none where one of them is not known."""
    if isinstance(written, str):
        return tuple(written.replace(",", " ").split())
    every = written if isinstance(written, (list, tuple)) else ()
    names = tuple(name for name in every if isinstance(name, str))
    return names if len(names) == len(every) else ()


def as_dict(named: dict[str, Value]) -> dict[Value, Value]:
    """What is held under names, as the dict of the program that it is: the same object."""
    return cast("dict[Value, Value]", named)


def changes(method: str, keywords: Keywords) -> Value:
    """The other values that the copy gets which a method returns, by attribute."""
    return keywords.get("update", {}) if method == "model_copy" else as_dict(keywords)


class Latest(list[Value]):
    """The last so many values that were put into it, how many is perhaps not known: a queue of limited length."""

    longest: int | None

    def __init__(self, values: Iterable[Value], longest: Value) -> None:
        super().__init__(values)
        self.longest = longest if isinstance(longest, int) else None


class Filling(Incomplete[Value]):
    """A dict that makes what is asked for under a key that it does not hold, and keeps it: a `defaultdict`, or one of
    which every value is made in the same way."""

    def __init__(self, values: Mapping[Value, Value], make: Callable[[], Value]) -> None:
        super().__init__(values)
        self._make = make

    def __bool__(self) -> bool:
        return True  # as far as anybody knows, it holds something

    def __missing__(self, key: Value) -> Value:
        self[key] = self._make()
        return self[key]
