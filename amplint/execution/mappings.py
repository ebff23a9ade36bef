"""Objects of the program's classes that derive from a dict: they keep what they are given under a constant key."""

from __future__ import annotations

from amplint.execution.values import Class, Instance, Origin, Symbol, Value, last_part, text_of

METHODS = frozenset({"items", "keys", "values", "get", "pop", "update"})
_MAPPINGS = frozenset({"dict", "defaultdict", "Counter", "OrderedDict", "UserDict"})
_COUNTING = frozenset({"defaultdict", "Counter"})
_KEPT = "[]"
"""The attribute that holds what an object like a dict holds: no name of Python's."""


def items(owner: Value) -> dict[Value, Value] | None:
    """What an object like a dict holds, to be read and changed; None for any other value."""
    if not isinstance(owner, Instance) or _KEPT in owner.attributes or not _base(owner.klass):
        return owner.attributes.get(_KEPT) if isinstance(owner, Instance) else None
    found: dict[Value, Value] = {}
    owner.attributes[_KEPT] = found
    return found


def at_first(owner: Instance) -> int | None:
    """What a counting dict holds under a key that nothing was put under; None if it does not count."""
    return 0 if _base(owner.klass) in _COUNTING else None


def _base(klass: Class) -> str:
    """The kind of dict that a class derives from, empty if it is none."""
    for base in klass.bases:
        name = _base(base) if isinstance(base, Class) else last_part(str(getattr(base, "name", text_of(base))))
        if name in _MAPPINGS:
            return name
    return ""


def put(owner: list[Value] | dict[Value, Value], value: Value) -> Value:
    """What a container is given: the value, but for one that holds the container itself, something unknown."""
    return Symbol("list", Origin.OPAQUE) if _holds(value, owner) else value


def _holds(value: Value, owner: list[Value] | dict[Value, Value]) -> bool:
    inner = value.values() if isinstance(value, dict) else value if isinstance(value, (list, tuple)) else ()
    return value is owner or any(_holds(one, owner) for one in inner)


def held(value: Value) -> list[Value]:
    """A value, or what an object of the program's classes holds: its attributes, and its items."""
    if not isinstance(value, Instance):
        return [value]
    return [*value.attributes.values(), *(items(value) or {}).values()]
