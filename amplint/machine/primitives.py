"""What the machine does for a public function or class, by the name that the dialects give to it."""

from __future__ import annotations

import math
from collections.abc import Callable
from fractions import Fraction

from amplint.domains import penalties, precision, tensors, told_windows
from amplint.flow import program as ir
from amplint.machine import attributes, batches, builtins, step_methods
from amplint.machine.intrinsics import INTRINSICS
from amplint.protocol.precision import Precision
from amplint.state import known_numbers, records, roles
from amplint.state.contexts import Partial, Region, Stack
from amplint.state.counting import TOLD
from amplint.state.counts import Count, Quotient
from amplint.state.records import Filling, Latest, as_dict
from amplint.state.run import Run
from amplint.state.values import (
    NUMBER,
    Bound,
    Class,
    Function,
    Gathered,
    Incomplete,
    Instance,
    Keywords,
    Loss,
    Method,
    Origin,
    Public,
    Symbol,
    Value,
)

PLAIN = Symbol("a tensor like any other")
"""What a primitive returns where the call does no more than that of any function of tensors."""


def _mean(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    value = args[0] if args else None
    return value if isinstance(value, Loss) else tensors.mean_of(run, args)


def _sum(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    return PLAIN if tensors.partly(args[1:], keywords) else tensors.sum_of(run, args)


def _joined(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """`torch.stack(losses)`: as many losses as stand in a list, of which the mean is what each of them is."""
    held = args[0] if args else keywords.get("tensors")
    every = held if isinstance(held, (list, tuple)) else ()
    losses = [one for one in every if isinstance(one, Loss)]
    if not losses or len(losses) < len(every):
        return PLAIN
    alike = {(one.weight, one.factors, one.summed, one.divisor, one.trail.born) for one in losses}
    return losses[0] if len(alike) == 1 else Loss(None, trail=losses[0].trail)


def _back_propagated(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    handed = args[0] if args else keywords.get("tensors")
    for value in handed if isinstance(handed, (list, tuple)) else [handed]:
        step_methods.back_propagate(run, value if isinstance(value, Loss) else Loss(None), at)
    return Symbol("None")


def _partial(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    if args and (
        isinstance(args[0], (Bound, Class, Function, Method, Public)) or roles.of_a_part(run, args[0]) is not None
    ):
        return Partial(args[0], tuple(args[1:]), tuple(keywords.items()), not isinstance(keywords, Incomplete))
    knows = frozenset({TOLD} if told_windows.speaks_of_window(run, [*args[1:], *keywords.values()]) else ())
    return args[0] if args and not keywords and len(args) == 1 else Symbol("partial(...)", tags=knows)


def _defaults(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    run.defaults_changed = True
    return None


def _switched(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    run.region = Region(Precision.UNKNOWN)
    return None


def _replaced(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """A copy of an object with other values; of what is not seen, something new."""
    owner = args[0] if args else None
    if isinstance(owner, Instance):
        return attributes.replaced(run, owner, as_dict(keywords))
    return Symbol("replaced(...)", Origin.OPAQUE)


def _copied(value: Value) -> Value:
    """A copy of a number or a text is the same; one of what the program was started with is so for the whole run."""
    if isinstance(value, (*NUMBER, str)):
        return value
    of_run = type(value) is Symbol and value.origin is Origin.RUN and not value.reach
    return Symbol("copy()", Origin.RUN if of_run else Origin.OPAQUE)


def _gathered(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """What a queue holds: what it is made of, where that is known."""
    longest = args[1] if len(args) > 1 else keywords.get("maxlen")
    held = args[0] if args else ()
    if not isinstance(held, (list, tuple)):
        return Symbol("deque(...)", Origin.OPAQUE)
    if longest is not None:
        return Latest(held, known_numbers.number(run, longest))
    return list(held) if args else Gathered()


def _filling(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """A `defaultdict`, which is empty at first as far as anybody knows."""
    if not args or args[0] is None or len(args) > 1 or keywords:
        return Symbol("defaultdict(...)", Origin.OPAQUE)
    return Filling({}, lambda: run.invoke(args[0], [], {}, at))


def _rounded(to_whole: Callable[[Fraction], int], args: list[Value]) -> Value:
    """A whole number that counts what the quotient did; anything else as it is."""
    value = args[0] if args else Symbol("math.ceil()")
    return Count(to_whole(value), value.tags) if isinstance(value, Quotient) else value


PRIMITIVES: dict[str, Callable[[Run, list[Value], Keywords, ir.Span], Value]] = {
    **INTRINSICS,
    "back_propagated": _back_propagated,
    "chained": batches.chained,
    "copied": lambda run, args, keywords, at: _copied(args[0] if args else None),
    "counted_out": batches.counted_out,
    "counted_up": batches.counted_up,
    "cycled": batches.cycled,
    "default_precision_set": _defaults,
    "differentiated": penalties.gradients,
    "filling": _filling,
    "first_elements": batches.first_elements,
    "joined": _joined,
    "loader": batches.loader,
    "mean": _mean,
    "named_tuple": lambda run, args, keywords, at: records.named_tuple(args),
    "partial": _partial,
    "precision_of_parameters": precision.of_parameters,
    "queue": _gathered,
    "region_switched": _switched,
    "remainder": builtins.remainder,
    "repeated": batches.repeated,
    "replaced": _replaced,
    "rounded_down": lambda run, args, keywords, at: _rounded(math.floor, args),
    "rounded_up": lambda run, args, keywords, at: _rounded(math.ceil, args),
    "share_of_a_rank": batches.share_of_a_rank,
    "stack_of_contexts": lambda run, args, keywords, at: Stack(),
    "sum": _sum,
    "typed": lambda run, args, keywords, at: args[1] if len(args) > 1 else keywords.get("val"),
}
"""Per name what it does. The functions that the programs of libraries call are among them."""
