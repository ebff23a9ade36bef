"""Gradients that `torch.autograd.grad` makes of a scaled loss, on their way into a loss.

They are marked in what a value reaches, which goes through everything that is computed from them. Whoever takes the
scale itself is taken to divide by it somewhere.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from amplint.dialects import vocabulary as words
from amplint.dialects.methods import DIRECTIONS
from amplint.dialects.vocabulary import within
from amplint.flow import program as ir
from amplint.protocol.events import Kind
from amplint.state.values import Loss, Origin, Symbol, Value, text_of

if TYPE_CHECKING:
    from amplint.domains.provenance import Reach
    from amplint.state.run import Run

_MARK = "gradients of a scaled loss"
_SCALE = within(words.SCALED, "inv inverse")


def gradients(run: Run, args: list[Value], keywords: dict[str, Value], at: ir.Span) -> Value:
    """What `torch.autograd.grad` returns."""
    outputs = args[0] if args else keywords.get("outputs")
    every = outputs if isinstance(outputs, (list, tuple)) else [outputs]
    scaled = any(isinstance(value, Loss) and value.scaler is not None for value in every)
    known = any("get_scale" in used for used in run.program.usage.values())
    return Symbol("gradients", Origin.DATA, reach=mark(at) if scaled and not known else frozenset())


def mark(at: ir.Span) -> Reach:
    """What says of a value that it is computed from such gradients."""
    return frozenset({(_MARK, " ".join(map(str, at)))})


def divided(op: str, reach: Reach, *operands: Value) -> Reach:
    """What remains of a mark after an operation: nothing once a scale takes part, or in a quotient of two that have
    the same scale."""
    known = op in ("*", "/") and any(_SCALE(text_of(value)) for value in operands)
    known = known or (op == "/" and len(operands) == 2 and bool(_marks(operands[0]) & _marks(operands[1])))
    return frozenset(pair for pair in reach if not known or pair[0] != _MARK)


def without_length(name: str, reach: Reach) -> Reach:
    """What remains of a mark after a function: nothing where only the direction or the sign is left."""
    return frozenset(pair for pair in reach if pair[0] != _MARK) if name in DIRECTIONS else reach


def _marks(value: Value) -> Reach:
    reach = value.reach if isinstance(value, Symbol) else frozenset()
    return frozenset(pair for pair in reach if pair[0] == _MARK)


def told(run: Run, reach: Reach) -> Reach:
    """Tells of such gradients in a loss that is back-propagated; what else it reaches."""
    for _, place in sorted(pair for pair in reach if pair[0] == _MARK):
        row, column, end_row, end_column = map(int, place.split())
        run.emit(Kind.PENALTY, (row, column, end_row, end_column))
    return frozenset(pair for pair in reach if pair[0] != _MARK)
