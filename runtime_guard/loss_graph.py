"""The criteria in the graph of a loss, and what the code multiplied and divided each of them by.

From the loss downwards everything is a single number until a *reduction*: the mean or sum that a criterion ends in.
The walk follows sums, products and quotients of single numbers, keeps the factor of every path, and stops at the
reductions. It never looks at a tensor of a device: a factor that is there is not known (None) to it.

Read on torch 2.13: a number of Python that meets a tensor is kept by `MulBackward0`/`DivBackward0` as a CPU tensor in
`_saved_other`; `MulBackward1`/`DivBackward1` (a C++ scalar) come from within criteria, such as label smoothing.

An edge of the graph names a node and which of its results is meant: only of functions in Python that matters. Two of
torch's own pass on what they take, result by result: `_DDPSink`, through which `DistributedDataParallel` hands out what
its module has returned (with `find_unused_parameters` or a static graph), and `BackwardHookFunction` around a module
that has full backward hooks (torch 2.4 and 2.13). What a user's function makes of a single number is not known.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from math import prod
from typing import NamedTuple

from torch import Tensor
from torch.autograd.function import BackwardCFunction
from torch.nn.modules._functions import BackwardHookFunction
from torch.nn.parallel.distributed import _DDPSink

from runtime_guard.compiled import UNREAD, is_compiled, weight_inside
from runtime_guard.kept import Node, constant, shape_of, taken
from runtime_guard.present import Scale, multiplier_at

Edge = tuple[Node, int]

MAX_NODES = 256
NODES_OF_A_GRAPH = 20_000
SCALE = "runtime_guard.loss_scale"
CRITERIA = {
    "NllLossBackward0": "NLLLoss",
    "NllLoss2DBackward0": "NLLLoss",
    "MseLossBackward0": "MSELoss",
    "SmoothL1LossBackward0": "SmoothL1Loss",
    "HuberLossBackward0": "HuberLoss",
    "BinaryCrossEntropyBackward0": "BCELoss",
    "BinaryCrossEntropyWithLogitsBackward0": "BCEWithLogitsLoss",
    "SoftMarginLossBackward0": "SoftMarginLoss",
    "MultiMarginLossBackward0": "MultiMarginLoss",
    "MultilabelMarginLossBackward0": "MultiLabelMarginLoss",
}
_MEANS = frozenset({"MeanBackward0", "MeanBackward1"})
_SUMS = frozenset({"SumBackward0", "SumBackward1"})
_STACKS = frozenset({"StackBackward0", "CatBackward0"})
_SAME = (
    "ToCopy", "Clone", "Alias", "View", "UnsafeView", "ReshapeAlias", "Reshape", "Squeeze", "Unsqueeze", "Expand",
    "Contiguous", "Permute", "Transpose", "T", "Slice", "Select", "Identity",
)  # fmt: skip
SAME = frozenset(f"{name}Backward{number}" for name in _SAME for number in (0, 1, 2))
CHAINS = SAME - {f"{name}Backward{number}" for name in ("Slice", "Select") for number in (0, 1, 2)}
_SCALAR_PARTS = frozenset({"MulBackward1", "DivBackward1"})
ONE_BY_ONE = frozenset(f"{name}Backward0" for name in ("Mul", "Div", "Add", "Sub", "Rsub", "Neg"))
_LOOK = 16
_NOTHING: Edge = (None, 0)


class Path(NamedTuple):
    """How a place in the graph is reached from the loss: the factor on the way, and the numbers divided by."""

    factor: float | None = 1.0
    divisors: tuple[float, ...] = ()
    multiplied: bool = False
    scaled: bool = False

    def times(self, value: float | None) -> Path:
        """The path through a multiplication; None for a factor that is not known."""
        factor = None if value is None or self.factor is None else self.factor * value
        return Path(factor, self.divisors, self.multiplied or value != 1, self.scaled)

    def over(self, value: float | None) -> Path:
        """The path through a division."""
        factor = None if not value or self.factor is None else self.factor / value
        return Path(factor, self.divisors if value is None else (*self.divisors, value), self.multiplied, self.scaled)

    def through_scale(self) -> Path:
        """The path through `scaler.scale`, which is no factor of the loss."""
        return Path(self.factor, self.divisors, self.multiplied, scaled=True)


@dataclass
class Reduction:
    """The end of one criterion in the graph of a loss. `part`: the node is a piece of criterion made in C++."""

    node: Node
    name: str
    path: Path

    @property
    def kind(self) -> str:
        """The node's own name."""
        return str(self.node.name())


@dataclass
class Found:
    """What a walk found, by node.

    `present`: the scales of the run's scalers, each of which may have been multiplied on by hand.
    `below_scale`: the node whose gradient is the loss scale itself. `scale`: the scale, if the host knows it. `common`:
    the factor that all criteria have in common, None if there is one criterion only. `opaque`: what was not followed.
    """

    reductions: dict[Node, Reduction]
    present: tuple[Scale, ...] = ()
    below_scale: Node | None = None
    scale: float | None = None
    common: float | None = 1.0
    opaque: tuple[str, ...] = ()


def reductions_of(tensors: Sequence[Tensor], present: tuple[Scale, ...] = (), start: float | None = None) -> Found:
    """The reductions below some losses, as far as the walk goes. `start`: the gradient that they are handed."""
    found = Found({}, present)
    first = Path()
    if start is not None and any(scale.number == start for scale in present if scale.large):
        first, found.scale = first.through_scale(), start
    roots = [tensor for tensor in tensors if tensor.grad_fn is not None]
    for root in roots:
        if root.numel() != 1:
            _add(found, root.grad_fn, first)
    waiting: list[tuple[Edge, Path]] = [((root.grad_fn, root.output_nr), first) for root in roots if root.numel() == 1]
    branched = len(roots) > 1
    for _ in range(MAX_NODES):
        if not waiting:
            break
        edge, path = waiting.pop()
        node = edge[0]
        below = None if _single(edge) is False else list(_below(edge, path, found))
        if not below:
            _add(found, node, path)
            continue
        if not branched:
            branched = len(below) > 1
            found.common = path.factor if branched else found.common
        waiting += below
    if not branched:
        found.common = None
    return found


def _add(found: Found, node: Node, path: Path) -> None:
    """Another path to the same reduction adds to its factor, as its gradients add."""
    name = str(node.name())
    if name == "torch::autograd::AccumulateGrad":
        return
    if is_compiled(node) and weight_inside(node) is None:
        found.opaque = (*found.opaque, UNREAD)
    known = found.reductions.get(node)
    if known is None:
        found.reductions[node] = Reduction(node, _named(node), path)
    elif known.path.factor is None or path.factor is None:
        known.path = Path(None, path.divisors, True, path.scaled)
    else:
        known.path = Path(known.path.factor + path.factor, path.divisors, True, path.scaled)


def _named(node: Node) -> str:
    name = str(node.name())
    return CRITERIA.get(name, name.rstrip("0123456789").removesuffix("Backward"))


def _below(edge: Edge, path: Path, found: Found) -> Iterator[tuple[Edge, Path]]:
    """The places below a node of single numbers; none at a reduction, or at what is not linear."""
    node, output = edge
    if passes_on(node):
        yield from _given(node.next_functions[output], lambda: path)
        return
    name = str(node.name())
    if name in CRITERIA or _is_one_criterion(node) or _takes_several(node):
        if name in _STACKS or name in _MEANS | _SUMS:
            yield from _of_stack(node, name, path)
        return
    scaled, scale = scale_at(node) if name == "MulBackward0" else (False, None)
    if scaled:
        scaled_loss = next((edge for edge in node.next_functions if edge[0] is not None), _NOTHING)
        found.scale, found.below_scale = scale, scaled_loss[0]
        yield from _given(scaled_loss, path.through_scale)
    elif (by_hand := multiplier_at(node, found.present)) is not None and by_hand[1].large:
        child, known = by_hand
        found.scale, found.below_scale = known.number, node.next_functions[child][0]
        yield from _given(node.next_functions[child], path.through_scale)
    else:
        yield from _arithmetic(node, name, path)


def passes_on(node: Node) -> bool:
    """Whether each result of a function in Python is what it took at the same place."""
    return getattr(node, "_forward_cls", None) in (_DDPSink, BackwardHookFunction)


def is_of_one_number(node: Node) -> bool:
    """Whether a function in Python has made something of single numbers only, as far as the graph says: that is no
    criterion."""
    return isinstance(node, BackwardCFunction) and not _takes_several(node)


def _takes_several(node: Node) -> bool:
    """Whether a node is known to have taken more than single numbers."""
    shapes = (taken(node, operand) for operand in range(len(node.next_functions)))
    return any(prod(shape) != 1 for shape in shapes if shape is not None)


def _of_stack(node: Node, name: str, path: Path) -> Iterator[tuple[Edge, Path]]:
    """The losses that were stacked and then averaged or added, each perhaps with a weight of its own."""
    stack = node if name in _STACKS else origin(node.next_functions[0][0], _stacked)
    if stack is None:
        return
    losses = [edge for edge in stack.next_functions if edge[0] is not None]
    if stack is not node and prod(taken(node) or (0,)) != len(stack.next_functions):
        return  # they were spread over more elements
    inner = path.times(1 / len(losses)) if name in _MEANS and losses else path
    weighed = stack is not node and origin(node.next_functions[0][0], _stacked, weighed=False) is None
    yield from ((edge, inner.times(None) if weighed else inner) for edge in losses)


def origin(node: Node | None, sought: Callable[[Node], bool], weighed: bool = True) -> Node | None:
    """The node of which the elements of a tensor are one by one, behind changes of shape and, if they may be `weighed`,
    behind products and sums of element with element."""
    waiting = [node]
    for _ in range(_LOOK):
        one = waiting.pop() if waiting else None
        if one is not None and sought(one):
            return one
        if one is not None and (one.name() in CHAINS or (weighed and one.name() in ONE_BY_ONE)):
            waiting += [child for child, _ in one.next_functions]
    return None


def _arithmetic(node: Node, name: str, path: Path) -> Iterator[tuple[Edge, Path]]:
    first, second = (*node.next_functions, _NOTHING, _NOTHING)[:2]
    if name in ("MulBackward0", "MulBackward1"):
        yield from _given(first, lambda: path.times(constant(node, "other")))
        yield from _given(second, lambda: path.times(constant(node, "self")))
    elif name in ("DivBackward0", "DivBackward1"):
        yield from _given(first, lambda: path.over(constant(node, "other")))
    elif name.startswith(("AddBackward", "SubBackward", "RsubBackward")):
        alpha = float(getattr(node, "_saved_alpha", 1))
        left, right = (-alpha, 1.0) if name.startswith("Rsub") else (1.0, -alpha if name.startswith("Sub") else alpha)
        yield from _given(first, lambda: path.times(left))
        yield from _given(second, lambda: path.times(right))
    elif name == "NegBackward0":
        yield from _given(first, lambda: path.times(-1.0))
    elif name in CHAINS:
        yield from _given(first, lambda: path)
    elif name in _MEANS | _SUMS and prod(taken(node) or (0,)) == 1:
        yield from _given(first, lambda: path)


def _given(edge: Edge, path: Callable[[], Path]) -> Iterator[tuple[Edge, Path]]:
    if edge[0] is not None:
        yield edge, path()


def _stacked(node: Node) -> bool:
    """Whether a vector was made of single losses by `torch.stack` or `torch.cat`."""
    if str(node.name()) not in _STACKS:
        return False
    return all(_single(edge) is not False for edge in node.next_functions)


def _is_one_criterion(node: Node) -> bool:
    """Whether a sum or quotient is the inside of one criterion: label smoothing, or targets that are probabilities."""
    name = str(node.name())
    children = [child for child, _ in node.next_functions if child is not None]
    if name == "AddBackward0" and len(children) == 2:
        return all(str(child.name()) in _SCALAR_PARTS for child in children) and nll_below(node) is not None
    return name == "DivBackward1" and str(children[0].name()) in ("NegBackward0", *_SUMS)


def nll_below(node: Node) -> Node | None:
    """The log-likelihood part of a smoothed criterion."""
    for child, _ in node.next_functions:
        for below, _ in child.next_functions if child is not None else ():
            if below is not None and str(below.name()).startswith("NllLoss"):
                return below
    return None


def _single(edge: Edge) -> bool | None:
    """Whether what an edge leads to is a single number; None when the graph does not say."""
    shape = shape_of(*edge)
    return None if shape is None else prod(shape) == 1


def mark_scale(tensor: Tensor, scale: float | None) -> None:
    """Leaves the loss scale with the multiplication that put it on a loss: it goes when the graph goes."""
    if tensor.grad_fn is not None:
        metadata: dict[str, float | None] = tensor.grad_fn.metadata  # type: ignore[assignment]
        metadata[SCALE] = scale


def scale_at(node: Node) -> tuple[bool, float | None]:
    """Whether a multiplication is the scaler's, and by what, if the host knows."""
    return SCALE in node.metadata, node.metadata.get(SCALE)
