"""Exit stacks (`contextlib.ExitStack`): contexts that are entered one by one, and calls that are put off to the end."""

from __future__ import annotations

from typing import TYPE_CHECKING

from amplint.domains import precision, ranks
from amplint.flow import program as ir
from amplint.machine import attributes
from amplint.state.contexts import Partial, Stack
from amplint.state.values import Instance, Method, Symbol, Value

if TYPE_CHECKING:
    from amplint.state.run import Run

_OF_NOTHING = (None, None, None)
"""What a context is told when it is left without an exception."""


def call(run: Run, stack: Stack, name: str, args: list[Value], keywords: dict[str, Value], at: ir.Span) -> Value:
    """A call of a method of a stack."""
    if name == "enter_context" and args:
        return _entered(run, stack, args[0], at)
    if name == "callback" and args:
        stack.later.append((Partial(args[0], tuple(args[1:]), tuple(keywords.items())), at))
    elif name == "push" and args:
        _put_off(run, stack, args[0], at)
    elif name == "pop_all":
        moved = Stack(list(stack.later))
        stack.later.clear()
        return moved
    elif name in ("close", "__exit__"):
        leave(run, stack)
    return args[0] if args else Symbol("None")


def leave(run: Run, stack: Stack) -> None:
    """Calls all that was put off, the last first (Python 3.13, `contextlib.ExitStack.__exit__`)."""
    while stack.later:
        function, at = stack.later.pop()
        run.invoke(function, [], {}, at)


def _entered(run: Run, stack: Stack, context: Value, at: ir.Span) -> Value:
    precision.enter(run, context)
    ranks.enter(run, context)
    if isinstance(context, Instance):
        _put_off(run, stack, context, at)
    return entered(run, context, at)


def _put_off(run: Run, stack: Stack, left: Value, at: ir.Span) -> None:
    """What is called at the end of a context, or of a function that takes its place."""
    leave = attributes.read(run, left, "__exit__") if isinstance(left, Instance) else left
    if isinstance(leave, Method) or not isinstance(left, Instance):
        stack.later.append((Partial(leave, _OF_NOTHING, ()), at))


def entered(run: Run, context: Value, at: ir.Span) -> Value:
    """What a context gives to the name after `as`: what its `__enter__` returns, else itself."""
    enter = attributes.read(run, context, "__enter__") if isinstance(context, Instance) else None
    return run.invoke(enter, [], {}, at) if isinstance(enter, Method) else context
