"""What has been put into objects that are not seen, such as `state.k = 0` or `state["k"] = 0`.

A place is known by the text of its owner and its name or key; an attribute and a key that is a text are one, as in most
settings. What is put there is there until something may have put another value in its place: then it is unknown, and
never again what it was.
"""

from __future__ import annotations

from collections.abc import Iterable

from amplint.dialects.public import QUIET
from amplint.domains import escaped_schedules
from amplint.flow import program as ir
from amplint.state import counting, known_numbers, mappings
from amplint.state.counts import Count
from amplint.state.run import Run
from amplint.state.truths import origin_of
from amplint.state.values import (
    NUMBER,
    SET,
    Condition,
    Function,
    Instance,
    Optimizer,
    Origin,
    Public,
    Scaler,
    Scheduler,
    Symbol,
    Value,
    text_of,
)

_ANY = "[?]"
"""The place of what was put under a key that is not known: it may be any."""

_CONTAINERS = frozenset(
    "AttrDict Box ConfigDict Counter DotDict EasyDict Munch Namespace OrderedDict SimpleNamespace create dict".split()
)
_CHANGES = frozenset("add append clear discard pop remove subtract update".split())


def put(run: Run, owner: Value, key: Value, value: Value) -> None:
    """`owner.key = value`, or `owner[key] = value`. Only numbers are kept, and what is put into a model's output."""
    text = _known_by(owner)
    escaped_schedules.escape(run, [value])
    if text is None:
        return
    if isinstance(value, Scaler):
        run.holders.add(text)
    name = _name(key)
    kept = run.places.setdefault(text, {})
    for other in [other for other in kept if name is None or _may_be(other, name)]:
        kept[other] = unknown(f"{text}{other}")
    if name is None:
        kept[_ANY] = unknown(f"{text}{_ANY}")
        return
    _forget(run, f"{text}{name}")
    changes = isinstance(value, Symbol) and run.in_batches and value.origin is not Origin.RUN
    changes = changes and not (isinstance(value, Symbol) and (value.forward or value.reach))
    if _is_kept(owner, value) or name[1:] in run.program.counted or _is_a_window(run, value):
        kept[name] = value
    elif name in kept or changes:
        kept[name] = value if _stays(run, value) else unknown(f"{text}{name}")


def held(run: Run, owner: Value, key: Value) -> Value:
    """What was put into a place; None if nothing was that is known."""
    text = _known_by(owner) if run.places else None
    kept = run.places.get(text) if text is not None else None
    name = _name(key) if kept else None
    return kept.get(name) if kept and name is not None else None


def of_any_key(run: Run, owner: Symbol) -> Value:
    """A number of which nothing is known, where something was put under a key that is not known; None elsewhere."""
    return run.places.get(owner.text, {}).get(_ANY)


def forget(run: Run, name: str) -> None:
    """Another object has the name now: nothing was put into it yet."""
    if run.places:
        _forget(run, name)


def disturb(run: Run, owner: Value) -> None:
    """Code that is not seen has had an object: numbers in it may be others now."""
    text = _known_by(owner) if run.places else None
    for known in [known for known in run.places if text is not None and _is_in(known, text)]:
        kept = run.places[known]
        for name, value in kept.items():
            if isinstance(value, NUMBER) or (_is_a_window(run, value) and not counting.names_window(name)):
                kept[name] = unknown(f"{known}{name}")


def made(run: Run, owner: Value, call: ir.Expr) -> None:
    """What a container is made of is in it: `SimpleNamespace(k=0)`, `OmegaConf.create({"k": 0})`."""
    if not isinstance(call, ir.Call) or getattr(call.func, "name", "") not in _CONTAINERS:
        return
    items: list[tuple[Value, ir.Expr]] = [*call.keywords]
    for mapping in (value for value in call.args if isinstance(value, ir.Mapping)):
        items += [(key.value, value) for key, value in mapping.items if isinstance(key, ir.Const)]
    for key, value in items:
        if isinstance(value, ir.Const):
            put(run, owner, key, counting.counted(run.model, value.value, str(key)))


def called(run: Run, owner: str, method: str) -> None:
    """A method that is not seen was called: what is in its object may be changed."""
    if not owner or not method or not run.in_batches or method in QUIET:
        return
    if method in _CHANGES:
        put(run, Symbol(owner), None, None)
    run.touched.add(owner)
    disturb(run, Symbol(owner))


def reached(run: Run, value: Value) -> None:
    """Code that is not seen has had an object of a class of the program: a counter that nothing else counts may have
    another value than it began with."""
    module = value.klass.scope.outermost().module if isinstance(value, Instance) else None
    if not isinstance(value, Instance) or (module is not None and module.library):
        return
    for name, held in value.attributes.items():
        if type(held) in (int, Count) and held == 0 and name not in run.program.counted:
            value.attributes[name] = unknown(f"{value.text}.{name}")


def has_changed(run: Run, owner: Symbol) -> bool:
    """Whether something was put into an object in a place that is not known."""
    return _ANY in run.places.get(owner.text, ())


def handed_over(run: Run, values: list[Value]) -> None:
    """Code that is not seen was handed some values."""
    mappings.handed_over(values)
    for value in values:
        disturb(run, value)
        reached(run, value)


def unknown(text: str) -> Symbol:
    """A number that the program sets, to what is not known."""
    return Symbol(text.replace(".[", "["), Origin.OPAQUE, tags=SET)


def _forget(run: Run, text: str) -> None:
    for known in [known for known in run.places if _is_in(known, text)]:
        del run.places[known]


def _is_in(known: str, text: str) -> bool:
    """Whether an object is the one of a text, or one that it holds."""
    return known == text or known.startswith((f"{text}.", f"{text}["))


def is_of(text: str, owners: Iterable[str]) -> bool:
    """Whether something is an attribute or an element of one of some objects."""
    return any(text != owner and _is_in(text, owner) for owner in owners)


def _is_kept(owner: Value, value: Value) -> bool:
    counts = isinstance(value, Symbol) and (value.tags or value.offset)
    return bool(isinstance(value, NUMBER) or counts or (isinstance(owner, Symbol) and owner.forward))


def _stays(run: Run, value: Value) -> bool:
    """Whether a value that is put in place of another one before the loop is the same for the whole run."""
    if run.in_batches or not isinstance(value, (Symbol, Condition, Public, str, type(None))):
        return False
    return origin_of((value,)) is Origin.RUN


def _is_a_window(run: Run, value: Value) -> bool:
    """Whether a place is given the length of a window: a setting that is called so, or what counts down from it."""
    known = type(value) is Symbol and not value.offset and value.origin is Origin.RUN
    return known and known_numbers.window_of(run, value) is not None


def _name(key: Value) -> str | None:
    """A name or key as a part of a text, None for one that may be any."""
    if isinstance(key, str):
        return f".{key}"
    if isinstance(key, (int, tuple)) or (isinstance(key, Symbol) and key.origin is Origin.RUN):
        return f"[{text_of(key) if isinstance(key, (int, Symbol)) else key}]"
    return None


def _may_be(one: str, other: str) -> bool:
    """Whether two different keys may be equal: one of them is not known."""
    return one != other and any(name[0] == "[" and not _is_literal(name[1:-1]) for name in (one, other))


def _is_literal(text: str) -> bool:
    return text.lstrip("-").isdigit() or text.startswith("(")


def _known_by(owner: Value) -> str | None:
    """What an object is known by; None for one that stands for many, and for one that is seen."""
    if isinstance(owner, Symbol):
        return None if "[*]" in owner.text else owner.text
    if isinstance(owner, Function):
        return owner.node.name if isinstance(owner.node, ir.Function) else None
    return text_of(owner) if isinstance(owner, (Optimizer, Scheduler, Public)) else None
