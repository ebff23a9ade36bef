"""The criteria of one backward, with what the graph and arithmetic say of each."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, replace
from math import isclose, prod
from typing import Any

from torch import Tensor

from amplint.protocol.values import with_changes
from runtime_guard.elements import Elements, elements_of
from runtime_guard.late import Number, number
from runtime_guard.loss_graph import Found, Reduction

Gradients = tuple[Tensor | None, ...]


@dataclass(frozen=True)
class Term:
    """One criterion of one backward.

    `gradient`: of what was back-propagated by this criterion, loss scale included, as the graph gave it. `scale`: the
    loss scale in it. `factor`: the same without the scale, by arithmetic. `key` tells criteria of a micro-step apart.
    """

    name: str
    elements: Elements
    factor: float | None
    divisors: tuple[float, ...] = ()
    multiplied: bool = False
    scaled: bool = False
    gradient: Number | None = None
    scale: Number | None = 1.0
    key: Hashable = None

    @property
    def numbers(self) -> tuple[Number | None, ...]:
        """What may still be on a device."""
        return (self.gradient, self.scale, self.elements.mass, self.elements.count)

    def with_numbers(self, numbers: Sequence[float | None]) -> Term:
        """The term with its numbers on the host."""
        gradient, scale, mass, count = numbers
        return replace(self, gradient=gradient, scale=scale, elements=replace(self.elements, mass=mass, count=count))

    def over(self, by: float) -> Term:
        """The term with a division more."""
        gradient = None if self.gradient is None else self.gradient / by
        factor = None if self.factor is None else self.factor / by
        return with_changes(self, gradient=gradient, factor=factor, divisors=(*self.divisors, by))

    @property
    def mass(self) -> Number | None:
        """What turns the coefficient of the reduction into that of the mean over its elements: 1 for a mean."""
        return self.elements.mass if self.elements.mean is False else 1.0

    @property
    def share(self) -> Number | None:
        """The number of elements that a micro-batch has in the effective batch; classes' weights are no number."""
        if self.elements.mean is False:
            return self.elements.mass
        return self.elements.count if self.elements.count is not None else 1.0

    @property
    def carried(self) -> Number | None:
        """The weight with the loss scale in it."""
        return None if self.gradient is None or self.mass is None else self.gradient * self.mass

    @property
    def weight(self) -> float | None:
        """The weight by the graph, None while it is on a device."""
        gradient, scale, mass = self.gradient, self.scale, self.mass
        if not isinstance(gradient, float) or not isinstance(scale, float) or not isinstance(mass, float):
            return None
        return gradient / scale * mass if scale else None

    @property
    def reckoned(self) -> float | None:
        """The weight by arithmetic, None when one of its factors is not known to the host."""
        mass = self.mass
        return self.factor * mass if self.factor is not None and isinstance(mass, float) else None

    @property
    def told(self) -> float | None:
        """The weight to judge by: exact where both agree; None where factors cancel, as in `2 * loss / 2`, or where one
        of them may be a division or none, as in `0.25 * loss / 4` and `(losses / 4).mean()`."""
        if self.elements.shared:
            return None
        if self.multiplied and self.divisors and self.elements.mean is not False and self._is_ambiguous():
            return None
        reckoned, weight = self.reckoned, self.weight
        if reckoned is None or weight is None:
            return reckoned if weight is None else weight
        return reckoned if isclose(reckoned, weight, rel_tol=1e-2) else weight

    def _is_ambiguous(self) -> bool:
        """Whether a loss that was divided was multiplied by what looks like a division, too, or undoes one."""
        if self.factor is None or not self.factor:
            return False
        share = 1 / (self.factor * prod(self.divisors))
        return _is_one(self.factor) or (share > 1.5 and isclose(share, round(share), rel_tol=1e-6))


_BLANK = Term("", Elements(None), None)


def _is_one(factor: float | None) -> bool:
    return factor is not None and isclose(factor, 1.0, rel_tol=1e-6)


@dataclass
class Heard:
    """What the hooks of one backward hear: a gradient by place, the loss scale under -1."""

    gradients: dict[int, Number]

    def hook(self, place: int) -> Callable[[Gradients], None]:
        """A pre-hook that keeps the single number that arrives; it changes nothing."""

        def hear(gradients: Gradients) -> None:
            found = gradients[0] if gradients else None
            if found is not None and found.numel() == 1:
                self.gradients[place] = number(found)

        return hear


@dataclass
class Listening:
    """A backward that is listened to."""

    terms: tuple[Term, ...]
    heard: Heard
    handles: tuple[Any, ...]

    def ended(self, place: Hashable) -> tuple[Term, ...]:
        """The terms that the backward reached; the hooks are gone."""
        for handle in self.handles:
            handle.remove()
        heard = self.heard.gradients
        return tuple(
            with_changes(term, gradient=heard[index], scale=heard.get(-1, term.scale), key=(place, index))
            for index, term in enumerate(self.terms)
            if index in heard
        )


def listen(found: Found, look: bool) -> Listening:
    """Listens to the reductions of a loss. `look`: masks on a device may be added up."""
    heard = Heard({})
    handles: list[Any] = []
    terms: list[Term] = []
    for reduction, elements in _counted([(one, elements_of(one, look)) for one in found.reductions.values()]):
        handles.append(reduction.node.register_prehook(heard.hook(len(terms))))
        terms.append(_term(reduction, elements, found))
    if found.below_scale is not None and found.scale is None:
        handles.append(found.below_scale.register_prehook(heard.hook(-1)))
    return Listening(tuple(terms), heard, tuple(handles))


def _term(reduction: Reduction, elements: Elements, found: Found) -> Term:
    path = reduction.path
    scale = found.scale if path.scaled else 1.0
    return with_changes(
        _BLANK,
        name=reduction.name,
        elements=elements,
        factor=path.factor,
        divisors=path.divisors[:-1] if elements.averaged else path.divisors,
        multiplied=path.multiplied,
        scaled=path.scaled,
        scale=scale,
    )


def _counted(pairs: list[tuple[Reduction, Elements]]) -> list[tuple[Reduction, Elements]]:
    """Those whose elements are known, if there are some: the rest are functions of single parameters."""
    return [pair for pair in pairs if pair[1].mean is not None] or pairs


def weight_of(terms: tuple[Term, ...], found: Found) -> float | None:
    """The weight of a backward: its criterion's, or the factor that several criteria have in common. Its size: what is
    maximized is minimized with the sign changed."""
    if not terms:
        return None
    if len(terms) > 1 and found.common is not None and found.common != 1:
        return abs(found.common)
    weights = [abs(term.told) for term in terms if term.told is not None]
    return max(weights) if len(weights) == len(terms) else None


def scaled_of(terms: tuple[Term, ...]) -> bool | None:
    """Whether every criterion carries a loss scale; None when some do and some do not."""
    scaled = {term.scaled for term in terms}
    return scaled.pop() if len(scaled) == 1 else None
