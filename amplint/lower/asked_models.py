"""Models that the class which holds them asks whether they are FSDP1's, clipped by torch's own function.

Who keeps a model and asks of its modules whether they are sharded has runs in which they are, wherever it was wrapped.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Set
from functools import partial

from amplint.flow import program as ir
from amplint.lower.names import dotted, functions, last, walk
from amplint.lower.project import class_text, neighbours_of
from amplint.lower.scopes import Scope
from amplint.lower.sharded_models import is_known_clip, may_hold, model_of, names_no_shards, sharded_clips, unasked
from amplint.lower.statements import Statements
from amplint.protocol.events import Site
from amplint.protocol.facts import SHARDED_CLIP, Fact
from amplint.source.parse import parse
from amplint.source.reading import Unparsable

_SHARDED = frozenset({"FullyShardedDataParallel", "FSDP"})
_MODULES = frozenset({"modules", "named_modules", "children", "named_children"})

Body = tuple[ir.Stmt, ...]
TextOf = Callable[[str], str]
"""The text of the class of a neighbouring file that a qualified name means, empty if there is none."""


def clips_of_shards(path: str, body: Body) -> Iterator[Fact]:
    """Every clip by torch's own function of a model that the module, or who keeps it, knows as FSDP1's."""
    yield from asked_clips(path, body, partial(class_text, path))
    if may_hold(body):
        yield from sharded_clips(path, body, neighbours_of(path, body).bodies.values())


def asked_clips(path: str, body: Body, text_of: TextOf) -> Iterator[Fact]:
    """The clips, unasked, of models that the class of a parameter, or of the method itself, asks for their shards.

    Where a strategy without shards is named, nothing is said.
    """
    scope = Scope.of_module(body)
    found = [node for _, node in functions(body)]
    clipping = {node.name: list(_clips(node, scope)) for node in found}
    if not any(clipping.values()) or names_no_shards(body):
        return
    classes = {node.name: node.body for node in body if isinstance(node, ir.Class)}
    owners = {id(method): node.body for node in body if isinstance(node, ir.Class) for method in node.body}
    told: set[Site] = set()
    for function in found:
        models = set(_models(function, owners.get(id(function), ()), classes, scope, text_of))
        for call in _clips_of(function, models, clipping, scope) if models else ():
            site = Site(path, *call.at)
            if site not in told:
                told.add(site)
                yield Fact(SHARDED_CLIP, site)


def _clips(function: ir.Function, scope: Scope) -> Iterator[ir.Call]:
    """The calls of torch's clip that a function makes without asking for shards."""
    return (call for call in unasked(function.body) if is_known_clip(call, scope))


def _clips_of(
    function: ir.Function, models: Set[str], clipping: dict[str, list[ir.Call]], scope: Scope
) -> Iterator[ir.Call]:
    """The clips of the parameters of models: in a function, or in one of the same file that it hands them to."""
    for call in unasked(function.body):
        if is_known_clip(call, scope) and model_of(call.args[0]) in models:
            yield call
        handed = [value for value in call.args if model_of(value) in models]
        named = {name for name, value in call.keywords if model_of(value) in models}
        for clip in clipping.get(last(call.func), ()) if handed or named else ():
            taken = dotted(clip.args[0])
            if taken in named or (handed and "." not in taken):
                yield clip


def _models(
    function: ir.Function, own: Iterable[ir.Stmt], classes: dict[str, Body], scope: Scope, text_of: TextOf
) -> Iterator[str]:
    """The models in a function, by their dotted names, that somebody asks whether they are sharded."""
    if function.params and own:
        yield from (f"{function.params[0].name}.{name}" for name in asked_attributes(own))
    for param in function.params:
        kind = param.annotation
        if isinstance(kind, (ir.Name, ir.Attr)):
            body: Iterable[ir.Stmt] = classes.get(last(kind), ()) or _class_of(text_of(scope.qualified(kind) or ""))
            yield from (f"{param.name}.{name}" for name in asked_attributes(body))


def _class_of(text: str) -> Body:
    """The body of the class of a text that speaks of FSDP, and that names no strategy without shards."""
    if not any(name in text for name in _SHARDED):
        return ()
    try:
        body = Statements(parse(text)).module()
    except Unparsable:
        return ()
    return () if names_no_shards(body) else next((node.body for node in body if isinstance(node, ir.Class)), ())


def asked_attributes(body: Iterable[ir.Stmt]) -> frozenset[str]:
    """The attributes of a class's object whose modules one of its methods asks whether they are FSDP1's."""
    found: set[str] = set()
    for method in body:
        if not isinstance(method, ir.Function) or not method.params:
            continue
        calls = [part for part in walk(method) if isinstance(part, ir.Call)]
        asked = [call.args[0] for call in calls if _asks(call)]
        held = [call.func.owner for call in calls if isinstance(call.func, ir.Attr) and call.func.name in _MODULES]
        names = {dotted(model) for model in (*asked, *held)} if asked else set()
        owner = f"{method.params[0].name}."
        found |= {name.removeprefix(owner) for name in names if name.startswith(owner) and name.count(".") == 1}
    return frozenset(found)


def _asks(call: ir.Call) -> bool:
    """Whether a call is `isinstance(module, FullyShardedDataParallel)`."""
    return last(call.func) == "isinstance" and len(call.args) == 2 and last(call.args[1]) in _SHARDED
