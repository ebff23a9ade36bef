"""The way from a loss to its criterion, walked in full once for each place that back-propagates, and followed then.

Most losses are one criterion, multiplied and divided by a few numbers. When a walk (`loss_graph`) has found such a
chain, the types of its nodes are kept with the place. The next loss of that place has the same nodes, or it is walked
in full again. What may differ from one micro-batch to the next is read every time: the numbers that the code multiplied
and divided by, the loss scale, how many elements the criterion has counted, the gradient that the backward begins with.
What follows from equal numbers is equal, and found in a table. The gradient that reaches the criterion is heard by a
hook where these numbers are new, and now and then.

Numbers of a device are not looked at. Of a loss on a device it is seen that it goes the same way, with the same
numbers on the host; its other numbers are read where those of a window are fetched: such a window is walked in full.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass, field
from operator import attrgetter
from typing import Any, NamedTuple

from torch import Tensor

from runtime_guard.elements import Elements, elements_of, flattened
from runtime_guard.kept import TELLS_HOOKS, Node, hidden, quietly
from runtime_guard.late import Number
from runtime_guard.loss_graph import CHAINS, CRITERIA, SCALE, Path, Reduction
from runtime_guard.terms import Term

MOST_STEPS = 12
MOST_KEPT = 256
ANEW = 64
"""One in so many passes of a place is walked in full and heard, whatever is known."""

_MEANS = ("MeanBackward",)
"""What a mean has counted is known from its shape, as what a criterion has."""

Values = tuple[float | None, ...]


@dataclass(frozen=True, eq=False)
class Outcome:
    """What is known of a backward once it is over.

    `carried`, `share`: of its heaviest criterion. `host`: all numbers are on the host. `kept`: it may come again.
    `like`: the one that comes again, which it is like as far as the host knows.
    """

    terms: tuple[Term, ...]
    carried: Number | None
    share: Number | None
    weight: float | None
    scaled: bool | None
    host: bool
    kept: bool = False
    opaque: tuple[str, ...] = ()
    like: Outcome | None = None


@dataclass(frozen=True)
class _Step:
    """One node of a way: its type, which child leads on, how its number is read, and what that does to a path."""

    kind: type
    child: int
    scale: bool = False
    raw: Callable[[Node], Any] | None = None
    read: Callable[[Node], Any] | None = None
    apply: Callable[[Path, float | None], Path] | None = None


class Counted(NamedTuple):
    """What a cross entropy without weights of classes has counted. `spatial`: a target has rows and columns."""

    reduction: int
    valid: float | None
    rows: int
    spatial: bool


class Loss(NamedTuple):
    """The numbers of one loss: those that decide what gradient reaches its criterion, and those of the criterion."""

    values: Values
    elements: Counted | Elements


@dataclass
class Way:
    """The nodes between the losses of one place and their criterion, and what was heard of such losses.

    `on_device`: the host does not know all of their numbers; one that it does not know is None.
    """

    place: Hashable
    steps: tuple[_Step, ...]
    end: type
    name: str
    flattened: bool
    on_device: bool
    passes: int = 0
    gradients: dict[Values, float] = field(default_factory=dict)
    outcomes: dict[Hashable, Outcome] = field(default_factory=dict)

    def loss(self, root: Tensor, start: float | None) -> Loss | None:
        """The numbers of a loss; None if it is another kind of loss, or keeps a number to itself."""
        try:
            if TELLS_HOOKS:
                return self._loss(root, start)
            with quietly:
                return self._loss(root, start)
        except RuntimeError:  # its graph is freed: torch says so itself when it is back-propagated again
            return None

    def _loss(self, root: Tensor, start: float | None) -> Loss | None:
        if root.is_cpu is self.on_device:
            return None
        values: list[float | None] = [start]
        node: Any = root.grad_fn
        for step in self.steps:
            kind: type = type(node)
            if kind is not step.kind:
                return None
            found = node.next_functions
            if step.scale or step.raw is not None:
                if found[1 - step.child][0] is not None or not _is_such(node, step):
                    return None
                value = _number_at(node, step)
                if value is None and not self.on_device:
                    return None
                values.append(value)
            node = found[step.child][0]
        elements = _elements_at(node, self.on_device) if type(node) is self.end else None
        return Loss(tuple(values), elements) if elements is not None else None

    def path(self, values: Values) -> Path:
        """What the numbers of a loss make of it."""
        path, at = Path(), 1
        for step in self.steps:
            if step.scale:
                path, at = path.through_scale(), at + 1
            elif step.apply is not None:
                path = step.apply(path, values[min(at, len(values) - 1)])
                at += step.raw is not None
        return path

    def scale(self, values: Values) -> float | None:
        """The loss scale among the numbers of a loss."""
        found = [step.scale for step in self.steps if step.scale or step.raw is not None]
        return values[1 + found.index(True)] if True in found else 1.0

    def numbers(self, values: Values) -> list[float]:
        """What a loss was multiplied by without a scaler, and the gradient that it is handed."""
        kinds = [step.scale for step in self.steps if step.scale or step.raw is not None]
        known = zip(values, [False, *kinds], strict=True)
        return [value for value, scale in known if value is not None and not scale and value != 1]

    def outcome(self, loss: Loss) -> Outcome | None:
        """What comes of a loss with these numbers, if it is known."""
        known = self.outcomes.get(loss)
        if known is not None:
            return known
        gradient = self.gradients.get(loss.values)
        if gradient is None and not self.on_device:
            return None
        path = self.path(loss.values)
        elements = self._elements(loss, path)
        term = Term(
            self.name, elements, path.factor, path.divisors, path.multiplied, path.scaled, gradient,
            self.scale(loss.values) if path.scaled else 1.0, (self.place, 0),
        )  # fmt: skip
        if len(self.outcomes) >= MOST_KEPT:
            self.outcomes.clear()
        weight = None if term.told is None else abs(term.told)
        known = Outcome((term,), term.carried, term.share, weight, term.scaled, host=not self.on_device, kept=True)
        self.outcomes[loss] = known
        return known

    def heard(self, loss: Loss, gradient: float) -> bool:
        """Notes what gradient such a loss has sent to its criterion. Returns whether it is the one that is known."""
        if len(self.gradients) >= MOST_KEPT:
            self.gradients.clear()
        return self.gradients.setdefault(loss.values, gradient) == gradient

    def expected(self, loss: Loss, heard: Term) -> Outcome | None:
        """What is known of such a loss, if what was heard is that, as far as the host knows."""
        if not self.on_device and not (isinstance(heard.gradient, float) and self.heard(loss, heard.gradient)):
            return None
        known = self.outcome(loss)
        return known if known is not None and known.terms == (heard.left_unread(),) else None

    def _elements(self, loss: Loss, path: Path) -> Elements:
        if isinstance(loss.elements, Elements):
            return loss.elements
        counted = loss.elements
        valid, rows, unread = counted.valid, counted.rows, counted.valid is None
        tokens = counted.spatial or self.flattened or (valid is not None and valid < rows)
        return Elements(counted.reduction == 1, valid, valid, rows, tokens, unread=unread)


class Ways:
    """The ways of the places seen so far; None for a place whose losses are of other kinds."""

    def __init__(self) -> None:
        self._known: dict[Hashable, Way | None] = {}

    def of(self, place: Hashable) -> Way | None:
        """The way that the losses of a place go, if it is known."""
        return self._known.get(place)

    def learn(self, place: Hashable, root: Tensor, reductions: dict[Node, Reduction]) -> Way | None:
        """The same, formed with the first of them that is walked in full."""
        if place not in self._known:
            self._known[place] = _way(place, root, reductions)
        return self._known[place]

    def forget(self, place: Hashable) -> None:
        """From now on the losses of this place are walked in full."""
        self._known[place] = None


def _is_such(node: Node, step: _Step) -> bool:
    """Whether a node is the multiplication of a scaler, or none, as the step says."""
    return step.apply is Path.over or (SCALE in node.metadata) is step.scale


def _number_at(node: Node, step: _Step) -> float | None:
    """The number that a node multiplies or divides by, or the loss scale; None if the host does not know it."""
    if step.scale or step.raw is None or step.read is None:
        scale: float | None = node.metadata.get(SCALE)
        return scale
    if hidden(step.raw(node)):
        return None
    value = step.read(node)
    if type(value) is float or type(value) is int:
        return float(value)
    if type(value) is not Tensor or value.requires_grad or not value.is_cpu or value.numel() != 1:
        return None
    return float(value.item())


def _elements_at(node: Node, on_device: bool) -> Counted | Elements | None:
    """What a criterion has counted; None if that is hidden."""
    if not _is_nll(type(node)):
        return elements_of(Reduction(node, "", Path()), look=not on_device).left_unread()
    if hidden(node._raw_saved_total_weight) or node._saved_weight is not None:
        return None
    reduction, counted, target = node._saved_reduction, node._saved_total_weight, node._saved_target
    if not reduction or counted.is_cpu is on_device or counted.numel() != 1:
        return None
    shape, valid = target.shape, None if on_device else float(counted.item())
    return Counted(reduction, valid, shape[0] if shape else 1, len(shape) > 1)


def _is_nll(kind: type) -> bool:
    return kind.__name__.startswith("NllLoss")


def _way(place: Hashable, root: Tensor, reductions: dict[Node, Reduction]) -> Way | None:
    """The way to the only criterion of a loss; None if it is not a chain of what is known here."""
    if len(reductions) != 1 or root.numel() != 1:
        return None
    ((end, reduction),) = reductions.items()
    steps: list[_Step] = []
    node: Any = root.grad_fn
    while node is not None and node is not end:
        step = _step(node)
        if step is None or len(steps) >= MOST_STEPS:
            return None
        steps.append(step)
        node = node.next_functions[step.child][0]
    if node is None or not (reduction.kind in CRITERIA or reduction.kind.startswith(_MEANS)):
        return None
    flat = _is_nll(type(end)) and flattened(end.next_functions[0][0])
    way = Way(place, tuple(steps), type(end), reduction.name, flat, on_device=not root.is_cpu)
    loss = way.loss(root, 1.0)
    return way if loss is not None and way.path(loss.values) == reduction.path else None


def _step(node: Node) -> _Step | None:
    """A node of single numbers with one way on."""
    name, kind, children = str(node.name()), type(node), [child for child, _ in node.next_functions]
    if name == "MulBackward0" and SCALE in node.metadata:
        return _Step(kind, 0, scale=True) if children[1] is None else None
    if name in ("MulBackward0", "DivBackward0") and children.count(None) == 1:
        child = 0 if children[0] is not None else 1
        if name == "DivBackward0" and child == 1:
            return None
        other = "self" if child else "other"
        applied = Path.over if name == "DivBackward0" else Path.times
        return _Step(kind, child, False, attrgetter(f"_raw_saved_{other}"), attrgetter(f"_saved_{other}"), applied)
    if name == "NegBackward0":
        return _Step(kind, 0, apply=lambda path, _: path.times(-1.0))
    return _Step(kind, 0) if name in CHAINS else None
