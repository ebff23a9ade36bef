"""What the methods of a tensor return that is not known, but of which it is known that it is a tensor."""

from __future__ import annotations

from fractions import Fraction

from amplint.dialects.methods import ARRANGING, ELEMENTWISE, FUNCTIONS, OF_ANY
from amplint.domains import precision
from amplint.protocol.values import with_changes
from amplint.state.counting import OF_SCALE, tags_of
from amplint.state.run import Run
from amplint.state.values import Loss, Origin, Symbol, Value

METHODS = OF_ANY | ELEMENTWISE

ELEMENTS = frozenset({"elements"})
"""Of what a criterion returns that does not reduce: the losses of the elements, however they are arranged."""
LOSS_FIRST = frozenset({"loss first"})
"""Of what a model returns that begins with its loss."""
LOSS_PERHAPS_FIRST = frozenset({"loss perhaps first"})
"""Of what may begin with it."""
BEGINS_WITH_LOSS = LOSS_FIRST | LOSS_PERHAPS_FIRST
PERHAPS_LOSS = frozenset({"perhaps a loss"})
"""Of the first of that: if it is back-propagated, it is the loss."""
NUMBER_TAG = frozenset({"number"})
"""Of a value that came out of a loss and has no graph."""
_FACTORS = frozenset({"divided", "multiplied", "parts"})
"""Of what each element was multiplied or divided by: then what they are reduced to is no plain mean or sum of them."""
OF_ELEMENTS = ELEMENTS | _FACTORS | OF_SCALE
"""What stays true of a tensor when it is reduced, or its elements are put in another order."""


def of_element(owner: Symbol, first: bool) -> frozenset[str]:
    """What is said of an element of something that is not known."""
    return PERHAPS_LOSS if first and owner.tags & LOSS_PERHAPS_FIRST else frozenset()


def call(run: Run, symbol: Symbol, method: str, args: list[Value], keywords: dict[str, Value]) -> Value:
    """What a method of a tensor returns; None if it is none of those known, or called on something else.

    What a model returned remains that, whatever is computed of its elements, and however they are arranged.
    """
    if method in OF_ANY and (symbol.origin is Origin.DATA or symbol.forward):
        return symbol if method == "sum" and partly(args, keywords) else _reduced(run, symbol, method)
    if method in ARRANGING and symbol.tags & ELEMENTS:
        return symbol
    if method in ELEMENTWISE and symbol.forward:
        return with_changes(symbol, text=f"{symbol.text}.{method}(...)")
    return None


def computed(made: Symbol, function: str, values: list[Value]) -> Symbol:
    """What a function of torch returns: computed of the elements of what a model returned, it remains that."""
    outputs = [value for value in values if isinstance(value, Symbol) and value.forward]
    known = bool(outputs) and function in FUNCTIONS
    return with_changes(made, forward=True, ran=precision.of_operands(outputs)) if known else made


def partly(args: list[Value], keywords: dict[str, Value]) -> bool:
    """Whether a sum is one over some dimensions of a tensor, by the arguments of its method."""
    return bool(args) or not keywords.keys().isdisjoint({"dim", "axis"})


def mean_of(run: Run, values: list[Value]) -> Loss:
    """The mean of a tensor."""
    tags = frozenset().union(*map(tags_of, values))
    trail = precision.trail_of(run, values)
    trail.perhaps = None if tags & OF_SCALE else trail.perhaps
    return Loss(None if tags & _FACTORS else Fraction(1), trail=trail)


def sum_of(run: Run, values: list[Value]) -> Loss:
    """The sum of a tensor that is computed now."""
    mean = mean_of(run, values)
    mean.trail.born = run.born
    return with_changes(mean, summed=True)


def kept(symbol: Symbol, name: str) -> frozenset[str]:
    """What stays true of a tensor when one of its methods is asked for."""
    return symbol.tags & OF_ELEMENTS if name in METHODS else frozenset()


def _reduced(run: Run, symbol: Symbol, method: str) -> Value:
    if method == "mean":
        return mean_of(run, [symbol])
    if method == "sum":
        return sum_of(run, [symbol])
    if method in ("item", "detach"):
        return Symbol(f"{symbol.text}.{method}()", Origin.DATA, tags=NUMBER_TAG)
    return symbol
