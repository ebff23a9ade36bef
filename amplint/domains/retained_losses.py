"""Losses that are added up over micro-steps with their graphs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from amplint.flow import program as ir
from amplint.flow.spelling import root, spelled
from amplint.protocol.events import Kind, Site
from amplint.protocol.values import with_changes
from amplint.state import known_numbers, mappings
from amplint.state.records import Latest
from amplint.state.run import Run
from amplint.state.scopes import Scope
from amplint.state.values import Class, Instance, Loss, Symbol, Trail, Value


def begun(run: Run, value: Value) -> Value:
    """A value; a loss is one of the micro-step in which it is first met, whatever holds it later."""
    if isinstance(value, Loss) and value.trail.born is None:
        value.trail.born, value.trail.updates = run.born, run.passed[1]
    return value


def joined(run: Run, left: Loss, right: Loss) -> Trail:
    """The trail of a sum: of losses of one micro-step the first one's, of several a trail of its own."""
    for loss in (left, right):
        begun(run, loss)
    first = left.trail
    first.reach |= right.trail.reach
    terms = tuple(dict.fromkeys((*_parts(first), *(_parts(right.trail) if right.attached else ()))))
    if len({trail.born for trail in terms}) == 1:
        first.terms = terms[1:]
        return first
    return with_changes(first, passed=False, terms=tuple(terms))


def _parts(trail: Trail) -> tuple[Trail, ...]:
    return (trail, *trail.terms)


def kept(run: Run, scope: Scope, target: ir.Expr, before: Value, value: Value, at: ir.Span) -> None:
    """Tells of a name to which a loss was added, if it now holds losses of earlier micro-steps that were
    back-propagated. `before`: what it held; a number that was added brings no graph, and a sum without it is a new one.
    """
    if run.without_graph or run.in_operator:
        return
    changed = isinstance(before, Instance) and before is value  # which does not tell what it held
    earlier = [] if changed else mappings.held(before)
    known = {id(part) for one in earlier if isinstance(one, Loss) for part in _parts(one.trail)}
    for one in mappings.held(value):
        if isinstance(one, Loss) and one.attached and any(id(part) not in known for part in one.trail.terms):
            if changed or not known.isdisjoint(id(part) for part in _parts(one.trail)):
                _kept(run, scope, target, one, at)


def _kept(run: Run, scope: Scope, target: ir.Expr, value: Loss, at: ir.Span) -> None:
    held = sum(trail.passed and _earlier(run, trail) for trail in value.trail.terms)
    if held:
        value.trail.kept |= {_tell(run, scope, target, held, value.trail.terms, at)}


def _earlier(run: Run, trail: Trail) -> bool:
    """Whether a loss is of another micro-step than the present one."""
    return trail.born is None or trail.born[0] not in (run.tick, -1)


def _tell(
    run: Run,
    scope: Scope,
    target: ir.Expr,
    held: int,
    every: Iterable[Trail],
    at: ir.Span,
    empties: bool = False,
) -> str:
    """Tells of a total that holds so many losses of earlier micro-steps, `every` one with those of the present; the key
    of the total.

    What a method keeps that is handed a loss is told where it is called: it may be handed numbers elsewhere.
    """
    called, name = _handed(run, scope, target), spelled(target)
    key = str(at) if called is None else str(called)
    anew = _bounded(run, target)
    if called is not None and isinstance(scope.instance, Instance):
        name = ".".join((scope.instance.klass.node.name, *name.split(".")[1:]))
        anew = _emptied(run, scope.instance.klass, target)
    bounded = {"bounded": "yes"} if empties or anew else {}
    detail = {"held": str(held), "name": name, **bounded}
    if len({trail.updates for trail in every}) == 1:
        detail["within"] = "yes"  # all that it holds is of one window
    run.emit(Kind.KEEP, at, total=key, detail=detail)
    if called is not None:
        run.events[-1] = with_changes(run.events[-1], site=called, stack=run.events[-1].stack[:-1])
    return key


def _handed(run: Run, scope: Scope, target: ir.Expr) -> Site | None:
    """Where the method was called that is handed a loss and adds it to what its object holds; None elsewhere."""
    function = scope.function.node if scope.function is not None else None
    if not isinstance(function, ir.Function) or not isinstance(scope.instance, Instance) or not run.stack:
        return None
    own, *params = [param.name for param in function.params]
    given = any(isinstance(scope.names.get(name), Loss) for name in params)
    return run.stack[-1] if given and root(target) == own else None


def appended(run: Run, scope: Scope, target: ir.Expr, at: ir.Span) -> None:
    """Tells of a list that was appended to, if it now holds losses of earlier micro-steps that were back-propagated.

    A queue of limited length lets go of the first ones.
    """
    made = isinstance(target, ir.Call) and getattr(target.func, "name", "") == "setdefault"
    values = run.evaluate(scope, target) if made or isinstance(target, (ir.Name, ir.Attr, ir.Item)) else None
    items = values if isinstance(values, list) and not isinstance(values, Latest) else []
    losses = [one for item in items for one in _inside(item) if isinstance(one, Loss) and one.attached]
    every = [part for loss in losses for part in _parts(loss.trail)]
    held = sum(any(part.passed and _earlier(run, part) for part in _parts(loss.trail)) for loss in losses)
    if held and not run.without_graph:
        _tell(run, scope, target, held, every, at, bool(_EMPTIES & run.program.usage.get(_last(target), frozenset())))


def _inside(item: Value) -> Iterable[Value]:
    """An item of a list, and what it holds."""
    if isinstance(item, (list, tuple)):
        return item
    return item.values() if isinstance(item, dict) else mappings.held(item)


_EMPTIES = frozenset({"clear", "pop", "popleft", "remove"})


def _last(target: ir.Expr) -> str:
    """The last part of a name."""
    return _last(target.owner) if isinstance(target, ir.Item) else getattr(target, "name", "")


def _bounded(run: Run, target: ir.Expr) -> bool:
    """Whether a total begins anew in the loop over the batches, or over the windows; of an attribute nobody knows."""
    if isinstance(target, ir.Call) and isinstance(target.func, ir.Attr):
        target = target.func.owner  # of `held.setdefault(key, [])`
    while isinstance(target, ir.Item):
        target = target.owner
    stepping = max((at for at, shape in enumerate(run.loops) if shape.steps), default=len(run.loops) - 2)
    inside = run.loops[max(stepping, 0) :]
    return not isinstance(target, ir.Name) or any(target.name in shape.anew for shape in inside)


def _emptied(run: Run, klass: Class, target: ir.Expr) -> bool:
    """Whether one of the methods of an object, which others call, sets anew what the object keeps."""
    called = {name for owner, names in run.program.usage.items() if owner != "self" for name in names}
    methods = (one for one in klass.node.body if isinstance(one, ir.Function) and one.name in called)
    return any(_field(one.target) == _field(target) for method in methods for one in _set_anew(method.body))


def _field(target: ir.Expr) -> str:
    """The attribute of an object at which a chain of attributes and elements begins."""
    while isinstance(target, (ir.Attr, ir.Item)) and not isinstance(target.owner, ir.Name):
        target = target.owner
    return spelled(target)


def _set_anew(nodes: Iterable[ir.Stmt]) -> Iterator[ir.Assign]:
    """The assignments, loops included, of what does not depend on what was held."""
    for node in nodes:
        if isinstance(node, ir.Assign) and _field(node.target) not in spelled(node.value):
            yield node
        elif isinstance(node, (ir.For, ir.If)):
            yield from _set_anew(node.body)


def added(run: Run, loss: Loss) -> dict[str, str]:
    """Of how many micro-steps a loss is the sum that is back-propagated at once, and over which window."""
    births = {part.born for part in _parts(loss.trail)}
    gate = run.gates[-1].length if run.gates else None
    ticks = {born[0] for born in births if born is not None}
    over = run.added_over if len(ticks) == 1 else gate
    if len(births) < 2 or not over or known_numbers.window_of(run, Symbol(over)) is None:
        return {}
    return {"added": str(len(births)), "added_over": over}


def summed(loss: Loss) -> Loss:
    """A loss that is back-propagated, with the weight of all the micro-steps whose losses it is the sum of."""
    parts = _parts(loss.trail)
    births = len({part.born for part in parts})
    if births < 2 or loss.weight is None:
        return loss
    return with_changes(loss, weight=None if any(part.passed for part in parts) else loss.weight * births)


def spent(run: Run, trail: Trail, at: ir.Span) -> None:
    """Tells of a backward of losses, and of totals that need their graphs for it."""
    for part in _parts(trail):
        part.passed = True
    for total in sorted(trail.kept):
        run.emit(Kind.SPEND, at, total=total)
