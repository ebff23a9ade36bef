"""Calls of torch's own criteria, as far as the precision matters in which they are called.

A model that runs in a float16 region hands out float16 tensors, and what only takes such a tensor apart leaves them
so. Whatever else is done to one, a cast above all, is not known to: then nothing is said.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from amplint.dialects.methods import ON_LOGARITHMS
from amplint.dialects.public import may_cast
from amplint.flow import program as ir
from amplint.protocol.events import Kind
from amplint.protocol.precision import BANNED, LOWER, Precision
from amplint.state.values import Criterion, Symbol, Value

if TYPE_CHECKING:
    from amplint.state.run import Run


def half(run: Run, model: Symbol) -> bool:
    """Whether what a model returns that is called now is float16; layers of torch may return float32 all the same."""
    return run.region.precision is Precision.FLOAT16 and not model.governed and not may_cast(model.text)


def called(run: Run, criterion: Criterion, args: list[Value], at: ir.Span) -> None:
    """A criterion is called: an event where the region is one that it refuses, or is not the one of its inputs."""
    refused = criterion.name in BANNED and run.region.device == "cuda" and run.region.precision in LOWER
    if refused or (criterion.name not in ON_LOGARITHMS and _left(run, args)):
        forward = Precision.UNKNOWN if refused else Precision.FLOAT16
        run.emit(Kind.CRITERION, at, forward=forward, detail={"criterion": criterion.name})


def _left(run: Run, args: list[Value]) -> bool:
    """Whether outputs of a float16 region are compared outside of every region, to be learned from."""
    if run.without_graph or run.region.precision is not Precision.OFF:
        return False
    outputs = [value for value in args if isinstance(value, Symbol) and (value.forward or value.half)]
    return bool(outputs) and all(value.half for value in outputs)
