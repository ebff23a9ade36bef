"""Objects of the program's classes that derive from a dict: they keep what they are given under a constant key."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from amplint.state.records import Filling, Latest
from amplint.state.values import NUMBER, SET, Class, Instance, Origin, Symbol, Value, last_part, text_of

METHODS = frozenset({"items", "keys", "values", "get", "pop", "update"})
_MAPPINGS = frozenset({"dict", "defaultdict", "Counter", "OrderedDict", "UserDict"})
_COUNTING = frozenset({"defaultdict", "Counter"})
_MOST = 256
"""How many values of a list are looked at, so that a list that only grows does not cost the run its time."""


def items(owner: Value) -> dict[Value, Value] | None:
    """What an object like a dict holds, to be read and changed; None for any other value."""
    return owner.items if isinstance(owner, Instance) and _base(owner.klass) else None


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


def is_key(value: Value) -> bool:
    """Whether what stands under a key is found again: it is the same all the time."""
    if isinstance(value, tuple):
        return all(map(is_key, value))
    return isinstance(value, (str, int)) or (isinstance(value, Symbol) and value.origin is Origin.RUN)


def lose(owner: list[Value] | dict[Value, Value]) -> None:
    """Takes the numbers in a container for unknown: it was given something that may stand in the place of any."""
    unknown = Symbol("list", Origin.OPAQUE, tags=SET)
    if isinstance(owner, dict):
        owner.update({key: unknown for key, value in owner.items() if isinstance(value, NUMBER)})
    else:
        owner[:] = [unknown if isinstance(value, NUMBER) else value for value in owner]


def overwrite(owner: dict[Value, Value], again: bool = False) -> None:
    """Takes plain values in a dict for unknown: others that nobody sees were put over them. `again`: amid the batches,
    where that may be others every time."""
    for key, value in owner.items():
        if isinstance(value, (str, *NUMBER)):
            owner[key] = Symbol("dict item", Origin.OPAQUE, tags=SET) if again else Symbol(str(key))


def update(owner: dict[Value, Value], given: dict[Value, Value], unknown: bool, again: bool) -> None:
    """`owner.update(...)` with keywords; what is not known may have put anything under each key."""
    if unknown:
        overwrite(owner, again)
    owner.update({key: put(owner, one) for key, one in given.items()})


def handed_over(values: Iterable[Value]) -> None:
    """Takes the numbers in containers for unknown: code that is not followed may have changed them."""
    for value in values:
        if isinstance(value, (dict, list)):
            lose(value)


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


_LEAVE = frozenset({"copy", "count", "index"})


def _of_list(owner: list[Value], name: str, args: list[Value]) -> Value:
    if name == "append" and args:
        extend(owner, args[:1])
    elif name == "extend" and args and isinstance(args[0], (list, tuple)):
        extend(owner, args[0])
    elif name in ("clear", "__delitem__") and (name == "clear" or args == [slice(None, None)]):
        owner.clear()
    elif name not in _LEAVE:
        lose(owner)
        return Symbol("list item", Origin.OPAQUE)
    return None


def extend(owner: list[Value], values: Sequence[Value]) -> None:
    """Puts values behind those of a list; of a queue of limited length, the first ones leave."""
    owner.extend([put(owner, one) for one in values[: max(_MOST - len(owner), 0)]])
    if isinstance(owner, Latest) and owner.longest is not None:
        del owner[: max(len(owner) - owner.longest, 0)]


def call(owner: list[Value] | dict[Value, Value], name: str, args: list[Value]) -> Value:
    """What a method of a list or dict returns, with all that it does to it."""
    if isinstance(owner, list):
        return _of_list(owner, name, args)
    if isinstance(owner, Filling) and name in ("values", "keys", "items"):
        return Symbol(f"dict.{name}()", Origin.OPAQUE)  # and those under other keys
    if name in ("values", "keys", "items"):
        return list(getattr(owner, name)())
    if name == "get" and args and isinstance(args[0], (str, int)):
        return owner.get(args[0], args[1] if len(args) > 1 else None)
    if name in ("pop", "__delitem__") and args and is_key(args[0]):
        return owner.pop(args[0], args[1] if len(args) > 1 else None)
    if name == "setdefault" and args and is_key(args[0]):
        return owner.setdefault(args[0], args[1] if len(args) > 1 else None)
    if name == "clear":
        owner.clear()
    if name in ("popitem", "__setitem__", "__delitem__", "subtract"):
        lose(owner)
    if name == "update" and args and isinstance(args[0], dict):
        owner.update({key: put(owner, one) for key, one in args[0].items()})
    return Symbol("dict item", Origin.OPAQUE)
