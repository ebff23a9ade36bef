"""Losses that go back through one optimizer's parameters on their way to another's, as the graph shows.

A model lies *below* another where an operation takes a parameter of one and what was computed from the other: a
discriminator that is given a generator's output. Two heads on one trunk only meet in a sum: none is below the other.
The graph is gone through once for each place that back-propagates.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

from torch import Tensor

from amplint.protocol.ledger import Grads, Ledger
from runtime_guard.loss_graph import SAME

Node = Any
Owners = Callable[[], Mapping[int, str]]
Pairs = frozenset[tuple[str, str]]

MOST = 20_000
"""So many nodes are gone through; of a larger graph nothing is said."""

_LEAF = "torch::autograd::AccumulateGrad"
_HOPS = 4


class Crossings:
    """What the backward passes of each place go through, and the one that has just ended."""

    def __init__(self) -> None:
        self._known: dict[Hashable, Pairs] = {}
        self._waiting: dict[str, tuple[Any, frozenset[str]]] = {}

    def passed(self, roots: Iterable[Tensor], stack: Any, owners: Owners, reached: frozenset[str]) -> None:
        """Takes note of a backward. `owners`: the optimizer of each parameter, by its identity."""
        self._waiting = {}
        if len(reached) < 2:
            return
        if stack not in self._known:
            self._known[stack] = between([root.grad_fn for root in roots if root.grad_fn is not None], owners())
        pairs = self._known[stack]
        for above in {first for first, _ in pairs} & reached:
            self._waiting[above] = (stack, frozenset(below for first, below in pairs if first == above))

    @property
    def waiting(self) -> bool:
        """Whether the last backward went through the parameters of one optimizer on its way to another's."""
        return bool(self._waiting)

    def erased(self, name: str) -> None:
        """The gradients of an optimizer were zeroed, or stepped with."""
        self._waiting.pop(name, None)

    def stepped(self, name: str) -> list[tuple[str, Any]]:
        """The optimizers whose parameters the last backward went through on its way to those that step now."""
        self.erased(name)
        found = [(above, stack) for above, (stack, below) in self._waiting.items() if name in below]
        for above, _ in found:
            del self._waiting[above]
        return found


def missed(
    tensors: Sequence[Tensor],
    owners: AbstractSet[str],
    reached: AbstractSet[str],
    ledgers: Mapping[str, Ledger],
) -> list[str]:
    """The optimizers that the last backward has `reached`, if a clip is given other tensors, which hold nothing new."""
    if not tensors or owners & reached:
        return []
    new = any(_is_new(ledgers[name]) for name in owners) or (
        not owners and any(tensor.grad is not None for tensor in tensors)
    )
    return [] if new else sorted(reached)


def _is_new(ledger: Ledger) -> bool:
    """Whether an optimizer has gradients that it has not used yet."""
    return ledger.grads is not Grads.NONE and not (ledger.used and ledger.window.micro_steps == 0)


def between(roots: Iterable[Node], owners: Mapping[int, str]) -> Pairs:
    """(one, other) for optimizers of which one's parameters are applied to what was computed from the other's."""
    below: dict[Node, frozenset[str]] = {}
    pairs: set[tuple[str, str]] = set()
    waiting = [(root, False) for root in roots]
    for _ in range(2 * MOST):
        if not waiting:
            return frozenset(pairs)
        node, entered = waiting.pop()
        children = [child for child, _ in node.next_functions if child is not None]
        if entered:
            below[node] = _of_node(node, children, below, owners, pairs)
        elif node not in below:
            waiting.append((node, True))
            waiting += [(child, False) for child in children if child not in below]
    return frozenset()


def _of_node(
    node: Node,
    children: list[Node],
    below: Mapping[Node, frozenset[str]],
    owners: Mapping[int, str],
    pairs: set[tuple[str, str]],
) -> frozenset[str]:
    if str(node.name()) == _LEAF:
        return frozenset({owners[id(node.variable)]} if id(node.variable) in owners else ())
    sets = [below.get(child, frozenset()) for child in children]
    for at, child in enumerate(children):
        if _is_parameter(child):
            others = (found for other, found in enumerate(sets) if other != at)
            pairs.update((own, one) for found in others for own in sets[at] for one in found if one != own)
    return frozenset().union(*sets)


def _is_parameter(node: Node) -> bool:
    """Whether a node is a parameter, or one in another shape or dtype."""
    for _ in range(_HOPS):
        if str(node.name()) == _LEAF:
            return True
        if str(node.name()) not in SAME or not node.next_functions or node.next_functions[0][0] is None:
            return False
        node = node.next_functions[0][0]
    return False
