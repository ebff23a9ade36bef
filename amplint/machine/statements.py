"""What a statement does."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from amplint.dialects import vocabulary as words
from amplint.dialects.public import COLLECTING
from amplint.dialects.vocabulary import within
from amplint.domains import loss_arithmetic, partial_zeroing, ranks, retained_losses, single_ranks, tails, tensors
from amplint.domains.parameter_dtypes import rebound, replaced
from amplint.flow import program as ir
from amplint.flow.spelling import spelled
from amplint.machine import (
    arithmetic,
    attributes,
    calls,
    first_choices,
    hidden,
    libraries,
    loops,
    neighbours,
    objects,
    operators,
    places,
    questions,
    restored,
    step_methods,
    totals,
    touched,
    unpacking,
    with_statements,
)
from amplint.machine.expressions import evaluate
from amplint.protocol.events import ANY_LENGTH, Kind
from amplint.protocol.values import with_changes
from amplint.state import counting, counts, known_numbers, mappings, truths
from amplint.state.naming import is_made, named
from amplint.state.run import Cut, NothingLeft, Run
from amplint.state.scopes import Scope
from amplint.state.signals import Returned, Signal
from amplint.state.values import (
    NUMBER,
    Class,
    Condition,
    Function,
    Gated,
    Gradient,
    Instance,
    Loss,
    Origin,
    Stream,
    Symbol,
    Value,
)


def execute(run: Run, scope: Scope, body: tuple[ir.Stmt, ...]) -> Signal:
    """Runs statements until one of them jumps."""
    depth = len(run.branches)
    for node in body:
        run.count()
        signal = _EXECUTORS[type(node)](run, scope, node)  # type: ignore[arg-type]  # each is of its own kind of node
        if signal is not None:
            break
        if type(node) is ir.If and (_leaves(node.body) or _leaves(node.orelse)):
            run.branch(node.at, int(_leaves(node.body)))  # what follows is the other branch
    else:
        signal = None
    del run.branches[depth:]
    return signal


def _leaves(body: tuple[ir.Stmt, ...]) -> bool:
    """Whether a block ends with a jump."""
    return bool(body) and isinstance(body[-1], (ir.Leave, ir.Return))


def assign(run: Run, scope: Scope, target: ir.Expr, value: Value) -> None:
    """`target = value`."""
    if is_made(value):
        _forget(run, target, value)
    if isinstance(target, (ir.Name, ir.Attr)):
        value = _as_loss(run, value, target.name)
    retained_losses.begun(run, value)
    if isinstance(target, ir.Name):
        scope.bind(target.name, named(run, value, target.name))
    elif isinstance(target, ir.Attr):
        owner = evaluate(run, scope, target.owner)
        if target.name == "grad":
            _assign_gradient(run, owner, value, target.at)
        else:
            name = f"self.{target.name}" if isinstance(owner, Instance) else spelled(target)
            attributes.write(run, owner, target.name, named(run, value, name))
            hidden.given(run, owner, value)
            replaced(run, owner)
    elif isinstance(target, ir.Display):
        unpacking.unpack(run, scope, target, value)
    elif isinstance(target, ir.Item):
        _assign_item(run, scope, target, value)


def _forget(run: Run, target: ir.Expr, value: Value = None) -> None:
    """What a call returned is another object than the one that had the name before."""
    if isinstance(target, (ir.Name, ir.Attr)):
        name = f"self.{target.name}" if isinstance(target, ir.Attr) else target.name
        run.objects.pop(("optimizer", name), None)
        places.forget(run, target.name)
        rebound(run, value, name)
    for item in target.items if isinstance(target, ir.Display) else ():
        _forget(run, item)


def _as_loss(run: Run, value: Value, name: str) -> Value:
    """What is bound to a name that is back-propagated is a loss, whatever function returned it."""
    if name not in run.program.losses or not isinstance(value, Symbol) or value.tags & _NO_LOSS:
        return value
    if value.tags & tensors.PERHAPS_LOSS:
        return attributes.own_loss(run, value)
    if value.forward or value.governed or value.origin is Origin.RUN or _is_handed_in(value):
        return value
    return with_changes(loss_arithmetic.unweighed(run, value, scales=True), raw=True)


_NO_LOSS = tensors.NUMBER_TAG | tensors.ELEMENTS


def _is_handed_in(value: Symbol) -> bool:
    """Whether a value is an element of what nothing in the run has made."""
    return value.text.endswith("[*]") and "(" not in value.text


def _assign_gradient(run: Run, owner: Value, value: Value, at: ir.Span) -> None:
    gradient = attributes.read(run, owner, "grad")
    if not isinstance(gradient, Gradient):
        return
    if value is None:
        step_methods.zero_gradient(run, gradient, at)
    elif not isinstance(value, Gradient):
        run.emit(Kind.OPAQUE, at)


def _assign_item(run: Run, scope: Scope, target: ir.Item, value: Value) -> None:
    owner, index = evaluate(run, scope, target.owner), evaluate(run, scope, target.index)
    replaced(run, owner)
    held = owner if isinstance(owner, dict) else mappings.items(owner)
    if held is not None and mappings.is_key(index):
        held[index] = mappings.put(held, value)
    elif isinstance(owner, list) and index == slice(None) and isinstance(value, (list, tuple)):
        owner[:] = [mappings.put(owner, one) for one in value]
    elif isinstance(owner, list) and isinstance(index, int) and -len(owner) <= index < len(owner):
        owner[index] = mappings.put(owner, value)
    elif held is not None:
        mappings.lose(held)
        if isinstance(index, Symbol) and not isinstance(value, NUMBER):
            held[index] = mappings.put(held, value)  # one stands for all of them, and is found under no key
    elif isinstance(owner, list):
        mappings.lose(owner)
    elif isinstance(owner, Stream) and not owner.batches and isinstance(target.owner, (ir.Name, ir.Attr)):
        assign(run, scope, target.owner, with_changes(owner, item=lambda index: value))  # one stands for all of them
    else:
        places.put(run, owner, index, named(run, value, spelled(target)))


def _assign(run: Run, scope: Scope, node: ir.Assign) -> Signal:
    value = restored.returned(run, scope, node, evaluate(run, scope, node.value))
    if totals.is_added_to(node.target, node.value):
        value = totals.grown(run, node.target, _held(run, scope, node.target), value)
    if isinstance(node.value, ir.Binary) and node.value.op == "+":
        retained_losses.kept(run, scope, node.target, _held(run, scope, node.target), value, node.at)
    assign(run, scope, node.target, value)
    if is_made(value):
        places.made(run, named(run, value, spelled(node.target)), node.value)
    return None


def _held(run: Run, scope: Scope, target: ir.Expr) -> Value:
    """What a target holds before it is assigned to; a name may not be bound yet."""
    if isinstance(target, ir.Name) and scope.find(target.name) is None:
        return Symbol(target.name)
    return evaluate(run, scope, target) if isinstance(target, ir.Name | ir.Attr | ir.Item) else None


def _augment(run: Run, scope: Scope, node: ir.Augment) -> Signal:
    value = evaluate(run, scope, node.value)
    if isinstance(node.target, ir.Attr) and (gradient := _gradient(run, scope, node.target)) is not None:
        step_methods.change_gradient(run, gradient, node.op, value, node.at)
        return None
    before = counting.as_symbol(evaluate(run, scope, node.target))
    window = known_numbers.window_of(run, before)
    counts_down = node.op == "-" and window is not None and window.name != spelled(node.target)
    if isinstance(before, Symbol) and isinstance(value, int) and node.op in ("+", "-") and not counts_down:
        before = arithmetic.running(run, before)
    operation = ir.Binary(node.at, node.op, node.target, node.value)
    own = operators.augmented(run, operation, before, value) or operators.binary(run, operation, before, value)
    after = own[0] if own is not None else arithmetic.binary(run, operation, before, value)
    after = totals.grown(run, node.target, before, after) if node.op in ("+", "-") else after
    retained_losses.kept(run, scope, node.target, before, after, node.at)
    assign(run, scope, node.target, counts.Count(after, frozenset()) if type(after) is int else after)
    return None


def _gradient(run: Run, scope: Scope, target: ir.Attr) -> Gradient | None:
    """The gradient that an assignment to `p.grad` or `p.grad.data` changes."""
    if target.name == "data" and isinstance(target.owner, ir.Attr):
        target = target.owner
    if target.name != "grad":
        return None
    found = attributes.read(run, evaluate(run, scope, target.owner), "grad")
    return found if isinstance(found, Gradient) else None


def _do(run: Run, scope: Scope, node: ir.Do) -> Signal:
    value = evaluate(run, scope, node.value)
    call = node.value
    if isinstance(call, ir.Call) and isinstance(call.func, ir.Attr) and call.func.name == "scale":
        if isinstance(value, Loss) and value.scaler is not None and value.trail.scaled is not None:
            run.emit(Kind.DISCARD, node.at, scaler=value.scaler)
    elif isinstance(call, ir.Call) and isinstance(call.func, ir.Attr) and call.func.name in ("div_", "mul_"):
        if isinstance(value, Loss):
            assign(run, scope, call.func.owner, value)  # an in-place method changes what the name holds
    elif isinstance(call, ir.Call) and isinstance(call.func, ir.Attr) and call.func.name == "append":
        retained_losses.appended(run, scope, call.func.owner, node.at)
    elif isinstance(call, ir.Call) and call.args and isinstance(call.args[0], (ir.Name, ir.Attr)):
        handed = evaluate(run, scope, call.args[0]) if getattr(call.func, "name", "") in COLLECTING else None
        if isinstance(handed, Loss) and ranks.collects(evaluate(run, scope, call.func)):
            assign(run, scope, call.args[0], with_changes(handed, collected=True))
    return None


def _if(run: Run, scope: Scope, node: ir.If) -> Signal:
    known = len(run.consulted)
    test = arithmetic.asked(evaluate(run, scope, node.test))
    test = touched.current(run, test) if node.gates else test
    if tails.rules_out(run, node, test):
        run.model.learn_no_tail()
    if node.leaves and isinstance(truths.resolve(run, test), (Symbol, Condition)):
        return None if not node.orelse else execute(run, scope, node.orelse)
    if tails.drops_surplus(run, node, test):
        run.model.learn_no_tail()
        return None
    said = test
    taken, test = _decided(run, node, test)
    asked = run.consulted[known:]
    events, updates = len(run.events), run.passed[1]
    if isinstance(test, Gated):
        with calls.gate(run, test, node.at):
            signal = _branch(run, scope, node, taken, test, said)
    else:
        signal = _branch(run, scope, node, taken, test, said)
    if asked and (len(run.events) > events or _leaves(node.orelse if taken else node.body)):
        run.telling.update(asked)
    if signal == "raise":
        raise Cut  # such a run is refused
    if partial_zeroing.passes_over(run, node, said, updates):
        run.emit(Kind.OPAQUE, node.at)
    if not taken and isinstance(test, Gated) and _jumps(node.body):
        run.gates.append(calls.gate_of(run, test, node.at))
    return signal


def _decided(run: Run, node: ir.If, test: Value) -> tuple[bool, Value]:
    """The truth of a test in this run, and the test: as a gate, if it may be that of a window."""
    taken = loops.boundary(run, test, node) if node.gates else None
    if taken is None:
        taken = first_choices.truth(run, node, test)
        known = isinstance(test, bool)
        inner = any(gate.length != ANY_LENGTH for gate in run.gates)  # of a window whose length is known
        asked = node.gates and run.in_batches and not (run.in_library or inner)
        if asked and (known or questions.may_count(test) or questions.asks_caller(run, test)):
            test = Gated(taken, None, assumed=not known)
    elif not isinstance(test, Gated):
        test = Gated(taken, None, assumed=True)
    if node.gates and run.in_batches and isinstance(test, Gated):
        run.asks(node.at, test)
    return taken, test


def _branch(run: Run, scope: Scope, node: ir.If, taken: bool, test: Value, said: Value) -> Signal:
    """Runs the branch that is taken.

    What happens in it may depend on whether a step was skipped, as does what follows where the body jumps. On some
    batches only (a test of data), or for what is finite, it happens as the test was said, whether or not it may be a
    window's; and so to the end of the turn where others are passed over. What is erased is what the test picks out.
    """
    jumps, depth = _jumps(node.body), len(run.branches)
    asks = isinstance(test, (Symbol, Condition)) and _may_ask(test)
    if asks:
        run.doubts.append(run.passed[1])
    stays = jumps and not taken
    some = (taken or stays) and run.in_batches > 0 and questions.of_this_batch(test) and questions.may_count(test)
    finite, large = questions.asks_finite(said), questions.found_too_large(said, taken)
    picks = partial_zeroing.picks(node, test)
    run.sometimes, run.finite = run.sometimes + some, run.finite + finite
    run.large, run.picked = run.large + large, run.picked + picks
    run.branch(node.at, int(not taken))
    run.late = run.late or questions.of_a_later_epoch(said, taken)
    single_ranks.enter(run, said)
    signal = execute(run, scope, node.body if taken else node.orelse)
    del run.branches[depth:]
    run.sometimes, run.finite = run.sometimes - (some and not stays), run.finite - finite
    run.large, run.picked = run.large - large, run.picked - picks
    if asks and not jumps:
        run.doubts.pop()
    return signal


def _may_ask(test: Value) -> bool:
    """Whether a condition may depend on what has happened in the step, or is called as if it did."""
    if isinstance(test, Condition):
        return any(_may_ask(part) for part in test.parts)
    return isinstance(test, Symbol) and (test.origin is not Origin.RUN or bool(_SKIPS(test.text)))


_SKIPS = within(words.SCALED, words.OVERFLOWING, words.SUCCEEDING)


def _jumps(body: tuple[ir.Stmt, ...]) -> bool:
    return first_choices.continues(body) or (bool(body) and isinstance(body[-1], ir.Return))


def _assert(run: Run, scope: Scope, node: ir.Assert) -> Signal:
    test = evaluate(run, scope, node.test)
    if isinstance(test, (int, Gated)) and not truths.truth(run, test):
        run.model.learn_no_tail()
    return None


def _try(run: Run, scope: Scope, node: ir.Try) -> Signal:
    """The body, then what follows it: an exception is not part of the training step, but for the end of an iterator."""
    caught = bool(node.catches & {"", "BaseException", "Exception", "RuntimeError"})
    run.caught += caught
    took = all(isinstance(one, ir.Assign | ir.Do) for one in node.body) and node.catches == {"StopIteration"}
    run.takes = len(run.stack) if took else None
    orelse = node.orelse
    try:
        signal = execute(run, scope, node.body)
    except NothingLeft:
        signal, orelse = execute(run, scope, node.handlers[0]), ()
    run.takes = None
    run.caught -= caught
    if signal is None:
        signal = execute(run, scope, orelse)
    last = execute(run, scope, node.final)
    return last if last is not None else signal


def _function(run: Run, scope: Scope, node: ir.Function) -> Signal:
    made = Function(node, scope)
    scope.bind(attributes.bound_as(node), made)
    if scope.function is not None:
        run.closures[id(node)] = made
    libraries.decorate(run, scope, made)
    return None


def _class(run: Run, scope: Scope, node: ir.Class) -> Signal:
    bases = tuple(evaluate(run, scope, base) for base in node.bases)
    decorators = [evaluate(run, scope, one.func if isinstance(one, ir.Call) else one) for one in node.decorators]
    inner = Scope(parent=scope)
    execute(run, inner, node.body)
    scope.bind(node.name, objects.define(Class(node, scope, bases=bases), decorators, inner.names))
    return None


def _import(run: Run, scope: Scope, node: ir.Import) -> Signal:
    if node.name not in scope.names:  # `try: import a; except: import b as a`: the first one stands
        found = libraries.find(run, node.qualified)
        scope.bind(node.name, found if found is not None else neighbours.public(run, node.qualified))
    return None


def _global(run: Run, scope: Scope, node: ir.Global) -> Signal:
    scope.elsewhere.update(node.names)
    return None


def _return(run: Run, scope: Scope, node: ir.Return) -> Signal:
    return Returned(evaluate(run, scope, node.value) if node.value is not None else None)


_EXECUTORS: dict[type, Callable[[Run, Scope, NoReturn], Signal]] = {
    ir.Assign: _assign,
    ir.Augment: _augment,
    ir.Do: _do,
    ir.If: _if,
    ir.For: loops.for_loop,
    ir.While: loops.while_loop,
    ir.With: with_statements.enter,
    ir.Try: _try,
    ir.Return: _return,
    ir.Leave: lambda run, scope, node: node.how,
    ir.Assert: _assert,
    ir.Import: _import,
    ir.Global: _global,
    ir.Function: _function,
    ir.Class: _class,
}
