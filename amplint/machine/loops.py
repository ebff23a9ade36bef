"""How often a loop runs on the model, and what its end means.

A loop that does not back-propagate runs once, as a sample. A loop over loops that do (epochs) runs twice. A loop that
back-propagates and does not step, inside something that steps, is a window if it counts, and as long as the window.
A loop over whole trainings, each with an optimizer of its own (folds, seeds, sets of hyperparameters), runs twice too.
Any other loop that back-propagates runs over an epoch: two windows and a tail.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from amplint.domains import shown_counts
from amplint.flow import program as ir
from amplint.flow.spelling import spelled
from amplint.machine import comparison, endless, questions
from amplint.protocol.events import ANY_LENGTH, Gate, Kind
from amplint.state import known_numbers, truths
from amplint.state.counts import Count, Length, Turn, Turns
from amplint.state.model import LONGEST, MAX_ITERATIONS, WINDOW
from amplint.state.run import Run
from amplint.state.scopes import Scope
from amplint.state.signals import Signal
from amplint.state.values import Condition, Gated, Origin, Stream, Symbol, Value, text_of

EPOCHS = 2
_BOUNDARY = re.compile(
    r"(?i)(need|do|should|is|will|can|must)_?\w*(update|sync|step|bound|accum|optim|last|apply)"
    r"|update_?(grad|weights|params|model|now|step)|sync_grad|boundary|step_optim|optimizer_step|last_micro|is_last|take_step"
)


@dataclass(frozen=True)
class _Adding:
    """The window whose losses a loop adds up, and the turn that it begins with: 1 where the first term stands before
    it."""

    window: str
    first: int


def for_loop(run: Run, scope: Scope, node: ir.For) -> Signal:
    """`for target in source`."""
    stream = run.stream_of(run.evaluate(scope, node.source))
    if stream.length == 0 and _is_filled_elsewhere(node):
        stream = run.stream_of(Symbol(spelled(node.source)))
    adding = _adds_up(run, scope, node, stream)
    trips = _trips(run, node, stream, adding)
    turns = _turns(node, stream, trips)

    def begin(index: int) -> bool:
        item = stream.item(index)
        if turns is not None and isinstance(item, Count):
            item = Turn(item, item.tags, turns)
        run.assign(scope, node.target, item)
        return True

    over, gone_through = stream.batches and node.shape.nested, _gone_through(stream)
    run.over_batches += over
    if gone_through is not None and node.shape.backward:
        run.lengths[gone_through] = trips  # what a loop goes through is as long as the loop
    first = len(run.events)
    signal = _iterate(run, scope, node, trips, begin, stream, adding)
    run.over_batches -= over
    if signal is None:
        for generator in run.yielded[-1:] if stream.endless else ():
            generator.endless = True
        _finish(run, node, stream, first)
        return _orelse(run, scope, node)
    return None if signal == "break" else signal


def _turns(node: ir.For, stream: Stream, trips: int) -> Turns | None:
    """What is known of the numbers of epochs, None where a loop goes through anything else, or is played whole."""
    last = stream.item(trips - 1) if node.shape.nested and not stream.batches and trips else None
    if not isinstance(last, Count) or trips == stream.length:
        return None
    end = stream.item(stream.length - 1) if stream.length is not None else None
    return Turns(last, end + 1 if isinstance(end, int) else None)


def _is_filled_elsewhere(node: ir.For) -> bool:
    """Whether a loop trains on what an object keeps: of that more than is seen is filled in, or nobody would train."""
    trains = node.shape.backward and (node.shape.steps or node.shape.nested)
    return trains and any(isinstance(part, ir.Attr) and "." in spelled(part) for part in _owners(node.source))


def _owners(node: ir.Expr) -> Iterator[ir.Expr]:
    """What an expression is read of: `self.loaders` of `enumerate(self.loaders.items())`."""
    yield node
    if isinstance(node, ir.Call):
        inner = (node.func.owner,) if isinstance(node.func, ir.Attr) else node.args
        for part in inner:
            yield from _owners(part)


def _gone_through(stream: Stream) -> str | None:
    """The text of what a stream hands out the elements of, numbered perhaps; None where that is not known."""
    item = stream.item(0) if stream.batches else None
    item = item[-1] if isinstance(item, tuple) and len(item) == 2 else item
    text = item.text if isinstance(item, Symbol) else ""
    return text[:-3] if text.endswith("[*]") else None


def _orelse(run: Run, scope: Scope, node: ir.For | ir.While) -> Signal:
    return run.execute(scope, node.orelse)


def while_loop(run: Run, scope: Scope, node: ir.While) -> Signal:
    """`while test`."""
    window = _learned(run, scope, node)
    trips = _sampled(run, node.shape)

    def begin(index: int) -> bool:
        test = run.evaluate(scope, node.test)
        known = not isinstance(test, (Symbol, Condition))
        return truths.truth(run, test) if known else index < trips

    endless = isinstance(node.test, ir.Const) and bool(node.test.value)
    if endless and node.shape.yields and not any(isinstance(one, (ir.For, ir.While)) for one in node.body):
        trips *= EPOCHS  # who takes one for each batch may go on in the next epoch
    flagged = node.shape.nested and _is_flag(node.test)  # of epochs, as many as of any others
    most = max(trips, run.model.batches * EPOCHS)
    limit = trips if endless or flagged else MAX_ITERATIONS if window is not None else most
    signal = _iterate(run, scope, node, limit, begin)
    if signal is None and window is not None:
        run.loop_gate = Gate(run.site(node.at), window)
    elif signal is None and node.shape.backward and not node.shape.nested:
        run.emit(Kind.EPOCH_END, node.at)
    return None if signal == "break" else signal


def _is_flag(test: ir.Expr) -> bool:
    """Whether a test asks a flag, and no count."""
    while isinstance(test, ir.Logic) and len(test.parts) == 1:
        test = test.parts[0]
    return isinstance(test, ir.Name | ir.Attr)


def _learned(run: Run, scope: Scope, node: ir.While) -> str | None:
    """The window that `while counter < N` counts, if the loop back-propagates and leaves the step to what follows."""
    if not node.shape.backward or node.shape.steps or not isinstance(node.test, ir.Compare):
        return None
    test = run.evaluate(scope, node.test)
    if isinstance(test, Condition):
        symbols = [part for part in test.parts if isinstance(part, Symbol) and part.origin is Origin.RUN]
        if len(symbols) == 1 and test.op in ("<", "<=", "!="):
            run.model.learn_window(text_of(symbols[0]))
    return text_of_bound(node.test.right) if isinstance(test, (bool, Gated)) else None


def text_of_bound(node: ir.Expr) -> str:
    """A bound as it is written."""
    if isinstance(node, ir.Attr):
        return f"{text_of_bound(node.owner)}.{node.name}"
    return node.name if isinstance(node, ir.Name) else str(getattr(node, "value", "the window"))


def _trips(run: Run, node: ir.For, stream: Stream, adding: _Adding | None) -> int:
    """How often a `for` runs."""
    if stream.length is not None:
        if _is_window(run, node, stream) or _is_long(node, stream):
            run.model.learn_length(stream.length)
        if node.shape.nested and not stream.batches:
            return min(stream.length, EPOCHS)
        return run.model.turns(stream.length) if node.shape.backward else min(stream.length, 64)
    if _is_window(run, node, stream) and stream.bound is not None:
        run.model.learn_window(text_of(stream.bound))
    if _is_window(run, node, stream) and (stream.window or stream.bound is not None):
        return WINDOW
    if adding is not None:
        return WINDOW
    return _sampled(run, node.shape)


def _is_long(node: ir.For, stream: Stream) -> bool:
    """Whether a loop that leaves the step to what follows counts to more than can be played."""
    waits = node.shape.backward and not (node.shape.steps or node.shape.nested or stream.batches)
    return waits and stream.length is not None and stream.length > LONGEST


def _sampled(run: Run, shape: ir.Shape) -> int:
    if not shape.backward:
        return run.model.batches if shape.yields else 1
    return EPOCHS if shape.nested else run.model.batches


def _is_window(run: Run, node: ir.For, stream: Stream) -> bool:
    """Whether a loop counts out the micro-steps of a window."""
    if not node.shape.backward or node.shape.steps or node.shape.nested:
        return False
    if stream.gathered and run.over_batches:
        return True
    if stream.window or stream.batches:
        return stream.window
    bound = stream.bound
    if bound is None:
        return False
    if "window" in bound.tags:
        return True
    return text_of(bound) in run.model.windows or known_numbers.window_of(run, bound) is not None or run.in_batches > 0


def _adds_up(run: Run, scope: Scope, node: ir.For, stream: Stream) -> _Adding | None:
    """How a loop goes through a window that leaves its backward to what follows: it may add the losses up; None for
    another loop."""
    first, bound = _left_out(run, scope, node.source, stream)
    if bound is None or node.shape.backward or known_numbers.window_of(run, bound) is None:
        return None
    return _Adding(text_of(bound), first)


def _left_out(run: Run, scope: Scope, source: ir.Expr, stream: Stream) -> tuple[int, Symbol | None]:
    """Whether a `range` leaves out one turn of what it counts to, by its beginning or its end, and what that is."""
    if not isinstance(source, ir.Call) or getattr(source.func, "name", "") != "range" or len(source.args) > 2:
        return 0, stream.bound
    begins, end = len(source.args) == 2 and _is_one(source.args[0]), source.args[-1] if source.args else None
    if isinstance(end, ir.Binary) and end.op == "-" and _is_one(end.right) and not begins:
        whole = run.evaluate(scope, end.left) if isinstance(end.left, (ir.Name, ir.Attr)) else None
        whole = Symbol(whole.name, tags=whole.tags) if isinstance(whole, Length) else whole
        return 1, whole if isinstance(whole, Symbol) else None
    return int(begins), stream.bound


def _is_one(node: ir.Expr) -> bool:
    return isinstance(node, ir.Const) and node.value == 1


def _iterate(
    run: Run,
    scope: Scope,
    node: ir.For | ir.While,
    trips: int,
    begin: Callable[[int], bool],
    stream: Stream | None = None,
    adding: _Adding | None = None,
) -> Signal:
    """Runs the body up to `trips` times. Returns the signal that ended the loop early, None if none did."""
    batches = node.shape.backward and not node.shape.nested
    depth, made, turn, sometimes = len(run.gates), len(run.optimizers), run.turn, run.sometimes
    run.in_batches += batches
    run.loops.append(node.shape)
    try:
        for index in range(trips):
            if not begin(index):
                return None
            run.turn = index + adding.first if adding is not None else turn
            run.last_batch = index == trips - 1 if batches else run.last_batch
            run.passed_over = run.passed_over and not (batches and index == 0)
            before, first = tuple(run.passed), len(run.events)
            signal = run.execute(scope, node.body)
            run.passed_over |= batches and signal == "continue" and run.passed[0] == before[0]
            run.gates[depth:], run.sometimes = [], sometimes
            if stream is not None and node.shape.backward:
                shown_counts.turn(run, stream, before, first)
            run.tick += batches
            if batches:
                comparison.compare(run)
            if signal not in (None, "continue"):
                run.left = run.left or batches
                return signal
            if node.shape.nested and index + 1 >= EPOCHS and len(run.optimizers) > made:
                return None  # each turn is a training of its own
        return None
    finally:
        run.loops.pop()
        run.turn, run.added_over = turn, adding.window if adding is not None else run.added_over
        run.in_batches -= batches


def _finish(run: Run, node: ir.For, stream: Stream, first: int) -> None:
    """A window that was counted out makes what follows its boundary; the batches' end is the end of an epoch. `first`:
    the number of events before the loop."""
    if not node.shape.backward or node.shape.nested:
        return
    if not node.shape.steps and _is_window(run, node, stream):
        window = known_numbers.window_of(run, stream.bound)
        name = window.name if window else text_of(stream.bound) if stream.bound is not None else ANY_LENGTH
        name = name or _end(node.source)
        run.loop_gate = Gate(run.site(node.at), name)
    elif stream.endless or (not run.loops and endless.spends(node.body) and _gone_through(stream) in run.streamed):
        run.endless = True  # or until the budget is spent, for all that is known
    else:
        run.horizons.epoch = first, len(run.events)
        run.emit(Kind.EPOCH_END, node.at)


def _end(source: ir.Expr) -> str:
    """How the end of a `range` is written."""
    ends = source.args[:2] if isinstance(source, ir.Call) else ()
    return spelled(ends[-1]) if ends else ANY_LENGTH


def boundary(run: Run, test: Value, node: ir.If) -> bool | None:
    """Whether a gate that cannot be followed is open: at the last micro-step of every window. None: it is no gate."""
    if not isinstance(test, (Symbol, Condition)):
        return None
    symbols = [part for part in (test.parts if isinstance(test, Condition) else (test,)) if isinstance(part, Symbol)]
    if not any(_BOUNDARY.search(symbol.name) and not questions.is_setting(symbol) for symbol in symbols):
        return None
    inverted = isinstance(test, Condition) and test.op == "not"
    return ((run.tick + 1) % WINDOW == 0) is not inverted
