"""Where a program can start, and how it is driven from there.

The module itself is run as a script. A function or method that this does not reach is run on symbols: as often as an
epoch has batches when it is one micro-step, twice when it holds the loop over the batches (the caller's epochs).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice

from amplint.dialects.vocabulary import within
from amplint.domains import escaped_schedules, scheduler_units
from amplint.flow import program as ir
from amplint.machine import attributes, calls, comparison, derived_classes, hidden, objects
from amplint.machine.assembly import MACHINE
from amplint.machine.late_setters import set_up
from amplint.machine.loops import EPOCHS
from amplint.machine.statements import execute
from amplint.protocol.events import BESIDE_OTHERS, KEPT, STEPS, Event, Kind
from amplint.protocol.values import with_changes
from amplint.state import class_members
from amplint.state.model import WINDOW, Model
from amplint.state.run import Cut, Run
from amplint.state.scopes import Scope
from amplint.state.values import Class, Function, Instance, Method, Optimizer, Scaler, Scheduler, Symbol, Value

MAX_ENTRIES = 40
_EPOCH = within("epoch")
_CREATED = frozenset({Kind.CREATE, Kind.SCALER_CREATED})


@dataclass(frozen=True)
class Entry:
    """A function or method to start from; the module itself if `function` is None.

    `wasted`: it makes gradients and zeroes them in a loop, and nothing in the module can have used them. `heir`: of
    several classes that fill in what the class leaves to others, the one to take, and what it fills in. `maker`: the
    function or method that makes the function, and hands it out.
    """

    function: ir.Function | None = None
    klass: str | None = None
    loops: bool = True
    wasted: bool = False
    heir: str | None = None
    own: tuple[ir.Function, ...] = ()
    maker: ir.Function | None = None

    @property
    def complete(self) -> bool:
        """Whether nobody else has a hand in: backward and step are both in it, and the loop or the zeroing too."""
        found = self.function
        return found is None or self.wasted or (found.backward and found.steps and (self.loops or found.zeroes))


def entries(program: ir.Program) -> Iterator[Entry]:
    """The module, then its functions and methods that act, those first that no other one calls: what another file calls
    of a class here is run from there."""
    yield Entry()
    for method, heir, own in islice(derived_classes.inherited(program), derived_classes.MAX_HEIRS):
        yield Entry(method, heir.name, method.loops, own=own)
    found = list(_functions(program.body, None))
    callers_first = sorted(
        found, key=lambda pair: (_is_called(pair[0], pair[1], program) or pair[0].name[:2] == "__", pair[0].at)
    )
    for function, klass in callers_first[:MAX_ENTRIES]:
        if function.relevant and (function.backward or function.steps):
            wasted = function.loops and function.zeroes and not (program.takers or program.libraries)
            first = Entry(function, klass, function.loops, wasted)
            yield first
            alone = not _is_called(function, klass, program)
            others = derived_classes.heirs(program, klass)[1 : derived_classes.MAX_HEIRS] if alone else []
            for one in others:
                yield replace(first, heir=one.name, own=derived_classes.filled_in(program, klass, one))
    for maker, klass in found[:MAX_ENTRIES]:
        for function, _ in _functions(maker.body, None):
            if function.relevant and function.backward and function.steps and function.zeroes:
                yield Entry(function, klass, function.loops, maker=maker)


def _functions(body: tuple[ir.Stmt, ...], klass: str | None) -> Iterator[tuple[ir.Function, str | None]]:
    for node in body:
        if isinstance(node, ir.Function):
            yield node, klass
        elif isinstance(node, ir.Class):
            yield from _functions(node.body, node.name)
        elif isinstance(node, (ir.If, ir.Try, ir.With)):
            yield from _functions(node.body, klass)


def _is_called(function: ir.Function, klass: str | None, program: ir.Program) -> bool:
    """Whether another function of the module calls this one."""
    return (f".{function.name}" if klass else function.name) in program.called


def _all_loops(body: tuple[ir.Stmt, ...]) -> Iterator[ir.For | ir.While]:
    """The loops of a body that back-propagate."""
    stack = list(body)
    while stack:
        node = stack.pop()
        if isinstance(node, (ir.For, ir.While)) and node.shape.backward:
            yield node
        if not isinstance(node, (ir.Function, ir.Class)):
            stack += [*getattr(node, "body", ()), *getattr(node, "orelse", ()), *getattr(node, "final", ())]


def play(program: ir.Program, entry: Entry, model: Model, forced: dict[str, bool], beside: Sequence[Event] = ()) -> Run:
    """One run of a program from an entry, with some conditions decided beforehand; `beside`: it ends with the
    micro-step in which something else has happened than there. May raise Again."""
    run = Run(program, model, MACHINE, forced)
    scope = Scope({"__name__": "__main__" if entry.function is None else "module"})
    try:
        _play(run, scope, entry, beside)
    except Cut:
        return run
    detail = _stands_still(run, entry) or _unseen(run)
    scheduler_units.settle(run)
    detail |= {"stepped": "yes"} if run.passed[1] else {}
    whole = (entry.function is None or entry.loops) and all(library.schedules for library in program.libraries)
    kept = escaped_schedules.kept(run) if whole else ""
    detail |= {KEPT: kept} if kept else {}
    run.emit(Kind.END, program.body[-1].at if program.body else ir.NOWHERE, detail=detail)
    return run


def _stands_still(run: Run, entry: Entry) -> dict[str, str]:
    """Of a run in which no optimizer has stepped: what the gate of the step asks for, if nothing but the step moves it,
    window after window, and nothing happens that is not seen. An attribute may be moved by whoever calls."""
    unseen = run.passed[1] or run.program.libraries or any(event.kind is Kind.OPAQUE for event in run.events)
    if unseen or not (entry.function is None or entry.loops):
        return {}
    standing = (gate.counter for gate, times in run.shut.values() if gate.place is not None and times >= 2 * WINDOW)
    return next(({"waits": counter} for counter in standing if counter and set(".[(").isdisjoint(counter)), {})


def _unseen(run: Run) -> dict[str, str]:
    """Whether something that is not seen can have used the gradients of a run, code or a framework by itself; `beside`:
    all that uses any was seen to step."""
    by_itself = run.program.libraries and not run.owes
    if by_itself or any(event.kind is Kind.OPAQUE for event in run.events):
        return {"unseen": "yes"}
    stepped = {event.site[1:3] for event in run.events if event.kind in STEPS}
    if any(at[:2] not in stepped for at in run.program.takers):
        return {"unseen": "yes"}
    return {BESIDE_OTHERS: "yes"} if run.program.takers else {}


def _play(run: Run, scope: Scope, entry: Entry, beside: Sequence[Event]) -> None:
    run.beside = beside if entry.function is None else ()
    execute(run, scope, run.program.body)
    if entry.function is None:
        return
    before = len(run.events)
    func = _callable(run, scope, entry)
    _begin(run, func, entry.function)
    made = [event for event in run.events[before:] if event.kind in _CREATED]
    run.events[:] = [event for event in run.events[:before] if event.kind in _CREATED] + made
    run.beside = beside
    run.whole = _is_the_whole_step(run, func, entry)
    run.called = _is_called(entry.function, entry.klass, run.program)
    own = frozenset(param.name for param in entry.function.params)
    run.per_call, run.given = frozenset() if entry.loops else own, run.given | own
    run.assumed = not (entry.loops and _is_an_epoch(entry.function))
    run.began = entry.function
    remade = not entry.loops and isinstance(func, (Function, Method)) and hidden.is_remade(run, _function_of(func))
    known, left = set(run.optimizers), list[Scaler]()
    run.horizons.escaped |= escaped_schedules.made(run) - _own_schedules(run, func)  # other functions may step them
    for turn in range(_turns(entry) if entry.loops else run.model.batches):
        _forget(run, known)
        left = _left_open(run, entry, remade, left)
        run.last_batch = not entry.loops and turn == run.model.batches - 1
        run.in_batches += not entry.loops
        _invoke(run, func, entry, entry.function)
        run.in_batches -= not entry.loops
        run.tick += not entry.loops
        comparison.compare(run)
        run.gates.clear()
        if run.endless:  # nobody calls it again
            return
        if not entry.loops and _made_here(run, known):  # each call is a training of its own
            if all(event.kind is not Kind.EPOCH_END for event in run.events):
                run.events[:] = [with_changes(event, repeats=False) for event in run.events]
            return


def _invoke(run: Run, func: Value, entry: Entry, function: ir.Function) -> None:
    """Calls what a run begins with, of which nobody knows who gets at what it returns and keeps. After two epochs it is
    too late to begin with stepping a schedule."""
    began = len(run.events)
    returned = calls.invoke(run, func, _arguments(entry), {}, function.at)
    whole = sum(event.kind is Kind.EPOCH_END for event in run.events[began:]) > 1 and not function.generator
    run.horizons.escaped |= set() if whole else _own_schedules(run, func)
    escaped_schedules.escape(run, [*([] if whole else [returned]), *_others(func)])


def _left_open(run: Run, entry: Entry, remade: bool, left: list[Scaler]) -> list[Scaler]:
    """What code that is not seen may do around a call of the entry; the scalers that its callers update."""
    at = entry.function.at if entry.function is not None else ir.NOWHERE
    once = not entry.loops and not run.whole
    if remade or (not entry.complete and not run.whole):
        run.emit(Kind.OPAQUE, at)
    for optimizer in _left_to_callers(run) if once else ():
        run.emit(Kind.OPAQUE, at, optimizer)
    left = left or (_updated_by_callers(run) if once else [])
    for scaler in left:
        run.emit(Kind.UPDATE, at, scaler=scaler)
    return left


def _own_schedules(run: Run, func: Value) -> set[str]:
    """The schedules that the object of a method keeps, and that nobody else gets at."""
    found = [(name, value) for name, value in _held(func).items() if isinstance(value, Scheduler)]
    return {value.key for name, value in found if not run.program.reached(name)}


def _others(func: Value) -> list[Value]:
    """What the object of a method keeps besides schedules of its own."""
    instance = func.instance if isinstance(func, Method) else None
    return [value for value in _held(func).values() if not isinstance(value, Scheduler) and value is not instance]


def _held(func: Value) -> dict[str, Value]:
    """The attributes of the object of a method."""
    instance = func.instance if isinstance(func, Method) else None
    return instance.attributes if isinstance(instance, Instance) else {}


def _function_of(func: Function | Method) -> Function:
    return func.function if isinstance(func, Method) else func


def _begin(run: Run, func: Value, function: ir.Function) -> None:
    """What a framework has done before it first calls the method that it calls for every batch."""
    instance = func.instance if isinstance(func, Method) else None
    if isinstance(instance, Instance) and attributes.read(run, instance, "whole_step") == function.name:
        begins = attributes.read(run, instance, "before_training")
        if isinstance(begins, Method):
            calls.invoke(run, begins, [], {}, function.at)


def _left_to_callers(run: Run) -> list[Optimizer]:
    """The optimizers that step and are made elsewhere, and are not zeroed where others are: whoever calls may do it."""
    zeroed = {event.optimizer for event in run.events if event.kind is Kind.ZERO_GRAD}
    made = {event.optimizer for event in run.events if event.kind is Kind.CREATE}
    stepped = {event.optimizer for event in run.events if event.kind in STEPS}
    left = stepped - zeroed - made if zeroed and None not in zeroed else set()
    return [found for name, found in run.optimizers.items() if name in left]


def _updated_by_callers(run: Run) -> list[Scaler]:
    """The scalers that are handed in and step, and that nothing here updates: whoever calls does, once for all."""
    done = {event.scaler for event in run.events if event.kind in (Kind.UPDATE, Kind.SCALER_CREATED)}
    steps = {event.scaler for event in run.events if event.kind is Kind.SCALER_STEP} - done
    handed = [value for value in run.objects.values() if isinstance(value, Scaler)]
    return [scaler for scaler in handed if scaler.key in steps]


def _is_the_whole_step(run: Run, func: Value, entry: Entry) -> bool:
    """Whether a method is what its framework calls for every batch, and no other of the class zeroes gradients."""
    if not isinstance(func, Method) or not isinstance(func.instance, Instance) or entry.function is None:
        return False
    named = attributes.read(run, func.instance, "whole_step") == entry.function.name
    others = [node for node in func.instance.klass.node.body if node.at != entry.function.at] if named else []
    zeroed = any(isinstance(node, ir.Function) and node.zeroes for node in others)
    return named and entry.function.backward and entry.function.steps and not zeroed


def _forget(run: Run, known: set[str]) -> None:
    """What an earlier call of the function made for itself is gone when it is called again."""
    for key in _made_here(run, known):
        del run.optimizers[key]


def _made_here(run: Run, known: set[str]) -> list[str]:
    """The optimizers that a call of the function made for itself."""
    given = {id(value) for value in run.objects.values()}
    return [key for key, made in run.optimizers.items() if key not in known and id(made) not in given]


def _turns(entry: Entry) -> int:
    """An epoch's function is called for several epochs; one that loops over epochs, or over a stream, is not."""
    assert entry.function is not None
    found = list(_all_loops(entry.function.body))
    if any(loop.shape.nested for loop in found):
        return 1
    indexed = any(isinstance(loop, ir.For) and _is_enumerate(loop.source) for loop in found)
    return EPOCHS if indexed or "epoch" in entry.function.name else 1


def _is_an_epoch(function: ir.Function) -> bool:
    """Whether a function is known to be called once per epoch: it says so, or is handed the epoch's number. A test of
    one is called once."""
    names = (function.name, *(param.name for param in function.params))
    return not function.name.startswith("test_") and any(map(_EPOCH, names))


def _is_enumerate(node: ir.Expr) -> bool:
    if not isinstance(node, ir.Call):
        return False
    return getattr(node.func, "name", "") == "enumerate" or any(_is_enumerate(arg) for arg in node.args)


def _arguments(entry: Entry) -> list[Value]:
    """A symbol per parameter, defaults left aside: users change them."""
    assert entry.function is not None
    names = [param for param in entry.function.params if not param.star]
    bound = entry.klass is not None and entry.maker is None and "staticmethod" not in attributes.marks(entry.function)
    return [Symbol(param.name) for param in names[bound:]]


def _callable(run: Run, scope: Scope, entry: Entry) -> Value:
    """The function to call: a method on a new object, whose constructor is given symbols; one that another function
    makes, as that hands it out."""
    assert entry.function is not None
    if entry.maker is not None:
        made = replace(entry, function=entry.maker, maker=None)
        calls.invoke(run, _callable(run, scope, made), _arguments(made), {}, entry.maker.at)
        return run.closures.get(id(entry.function), Function(entry.function, scope))
    if entry.klass is None:
        found = scope.names.get(entry.function.name)
        return (
            found if isinstance(found, Function) and found.node is entry.function else Function(entry.function, scope)
        )
    klass = scope.names.get(entry.klass)
    if not isinstance(klass, Class):
        return Function(entry.function, scope)
    own = class_members.of_class(klass, entry.function.name)
    klass = derived_classes.concrete(run.program, scope, klass, entry.heir)
    init = attributes.read(run, klass, "__init__")
    names = [param.name for param in init.node.params[1:] if not param.star] if isinstance(init, Function) else []
    run.given = frozenset(names)
    instance = objects.instantiate(run, klass, [Symbol(name) for name in names], {}, entry.function.at)
    if isinstance(instance, Instance):
        set_up(run, instance, entry.function.at)
    function = own if isinstance(own, Function) else Function(entry.function, scope, klass)
    marks = attributes.marks(entry.function)
    if "staticmethod" in marks:
        return function
    return Method(function, klass if "classmethod" in marks else instance)
