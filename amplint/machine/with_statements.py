"""What a `with` statement does: what its context begins, its block, and what its context ends.

A context manager that is written as a generator (`contextlib.contextmanager`) runs up to its `yield`, where the block
runs, and then to its end.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeVar

from amplint.domains import precision, ranks
from amplint.flow import program as ir
from amplint.machine import attributes, calls, exit_stacks, unseen_contexts
from amplint.state import truths
from amplint.state.blocks import Block
from amplint.state.contexts import Stack
from amplint.state.run import Run
from amplint.state.scopes import Scope
from amplint.state.signals import Signal
from amplint.state.values import Function, Instance, Method, Value

Element = TypeVar("Element")


def enter(run: Run, scope: Scope, node: ir.With) -> Signal:
    """Runs a `with` statement."""
    manager = _generator(run, scope, node.context)
    if manager is None:
        return _with(run, scope, node, run.evaluate(scope, node.context))
    block = Block(node, scope, manager, run.here, _depths(run))
    before, run.waiting = run.waiting, block
    context = run.evaluate(scope, node.context)
    run.waiting = before
    return block.signal if block.entered else _with(run, scope, node, context)


def reach(run: Run, block: Block, value: Value) -> None:
    """A generator hands out a value, and lets the block run that has waited for it; once, and as where it stands."""
    if block.entered:
        return
    block.entered = True
    with _put_aside(run, block):
        if block.node.target is not None:
            run.assign(block.scope, block.node.target, value)
        block.signal = run.execute(block.scope, block.node.body)


def _generator(run: Run, scope: Scope, context: ir.Expr) -> ir.Function | None:
    """The function that a context calls, if it is a context manager of the program that is written as a generator."""
    if not isinstance(context, ir.Call) or not isinstance(context.func, (ir.Name, ir.Attr)):
        return None
    found = truths.resolve(run, run.evaluate(scope, context.func))
    function = found.function if isinstance(found, Method) else found
    if not isinstance(function, Function) or not isinstance(function.node, ir.Function):
        return None
    node = function.node
    managed = any(getattr(decorator, "name", "") == "contextmanager" for decorator in node.decorators)
    return node if managed and node.generator else None


def _depths(run: Run) -> tuple[int, int, int]:
    return len(run.stack), len(run.gates), len(run.yielded)


@contextmanager
def _put_aside(run: Run, block: Block) -> Iterator[None]:
    """While it is open, the code around a block runs, and not the generator that lets it run."""
    here, run.here = run.here, block.here
    calls, gates, blocks = block.around
    with _without(run.stack, calls), _without(run.gates, gates), _without(run.yielded, blocks):
        try:
            yield
        finally:
            run.here = here


@contextmanager
def _without(every: list[Element], depth: int) -> Iterator[None]:
    """While it is open, a list holds no more than it did at a depth."""
    held = every[depth:]
    del every[depth:]
    try:
        yield
    finally:
        every[depth:] = held


def _with(run: Run, scope: Scope, node: ir.With, context: Value) -> Signal:
    acting = unseen_contexts.acts(run, scope, node.context, context)
    unseen_contexts.passed(run, context, acting, node.at)
    given = exit_stacks.entered(run, context, node.at)
    if node.target is not None:
        run.assign(scope, node.target, given)
    without = precision.is_without_graph(context)
    run.without_graph += without
    run.within += acting
    with precision.kept(run):
        precision.enter(run, context)
        ranks.enter(run, context)
        signal = run.execute(scope, node.body)
    run.without_graph -= without
    run.within -= acting
    if isinstance(context, Instance) and isinstance(leave := attributes.read(run, context, "__exit__"), Method):
        calls.invoke(run, leave, [None, None, None], {}, node.at)
    unseen_contexts.passed(run, context, acting, node.at)
    if isinstance(context, Stack):
        exit_stacks.leave(run, context)
    return signal
