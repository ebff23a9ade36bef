"""What backward passes give to a few parameters, where it is not left in `.grad`, and what is stepped of it.

Who steps copies of the parameters, or takes every gradient away at once, leaves nothing that could be compared before
and after a backward. But whatever becomes of a gradient, it arrives at the parameter's own node of the graph: a
pre-hook there, for the time of one backward, sees what this micro-step has given. And at the step the gradient lies in
the tensor that is stepped, where the copies lie one after the other in the order of the groups (`owners`). Their values
show whether that is so: they are the parameters', but for rounding.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor
from torch.autograd.graph import get_gradient_edge

from runtime_guard.owners import GIVEN, Copy

HELD = 0.05
"""A micro-step of which less than this part is left, in comparison with another one, is lost."""
ALONE = 1e-6
"""Contributions are told apart if none is, but for this part of its square, a sum of others."""
RESIDUE = 1e-2
"""So much of the square of what is stepped may be no sum of contributions: rounding."""

Row = tuple[Tensor, ...]
View = Callable[[Tensor], Tensor]


@dataclass
class Gathering:
    """The contributions of one backward, as they arrive. `view`: the sampled values of a tensor."""

    view: View
    copies: list[Copy] = field(default_factory=list)
    _handles: list[Any] = field(default_factory=list)
    _caught: dict[int, Tensor] = field(default_factory=dict)

    def choose(self, optimizer: Any, most: int) -> None:
        """Follows at most so many parameters of an optimizer, matrices if there are some: vectors may be all alike."""
        able = [copy for copy in GIVEN.copies(optimizer) if _able(copy)]
        like = [copy for copy in able if copy.kind == able[0].kind]
        self.copies = ([copy for copy in like if copy.matrix] or like)[-most:]

    def listen(self) -> None:
        """Listens to what one backward gives."""
        self.stop()
        for at, copy in enumerate(self.copies):
            if (parameter := copy.parameter()) is not None and parameter.requires_grad:
                self._handles.append(get_gradient_edge(parameter).node.register_prehook(self._hook(at)))

    def _hook(self, at: int) -> Callable[[tuple[Tensor | None, ...]], None]:
        """A pre-hook that keeps a few values of the gradient that arrives; it changes nothing."""
        caught, view, like = self._caught, self.view, self.copies[at].numel

        def hear(gradients: tuple[Tensor | None, ...]) -> None:
            found = gradients[0] if gradients else None
            if type(found) is Tensor and found.numel() == like and found.layout is torch.strided:
                values = _wide(view(found).clone())
                caught[at] = caught[at] + values if at in caught else values

        return hear

    def stop(self) -> None:
        """Listens no longer."""
        for handle in self._handles:
            handle.remove()
        self._handles.clear()
        self._caught.clear()

    def heard(self) -> Row | None:
        """What has arrived at all of the parameters; None if one of them had nothing."""
        found = tuple(self._caught[at] for at in sorted(self._caught))
        whole = len(found) == len(self.copies)
        self.stop()
        return found if whole and found else None

    def stepped(self) -> Row | None:
        """The same values of what is stepped; None where they cannot be found there."""
        found = [self._taken(copy) for copy in self.copies]
        taken = tuple(one for one in found if one is not None)
        return taken if len(taken) == len(self.copies) else None

    def _taken(self, copy: Copy) -> Tensor | None:
        parameter, values = copy.parameter(), copy.part(copy.stepped())
        held = copy.stepped()
        gradient = copy.part(held.grad) if held is not None else None
        if parameter is None or values is None or gradient is None:
            return None
        if parameter.is_cpu and not torch.equal(self.view(parameter.detach()), self.view(values).to(parameter.dtype)):
            return None
        return _wide(self.view(gradient).clone())


def lost(rows: list[Tensor], taken: Tensor) -> int | None:
    """How many of the first contributions are missing in what was taken; None if it is no sum of some of them."""
    together = torch.stack(rows).double()
    product, wanted = together @ together.T, together @ taken.double()
    strengths: list[float] = torch.linalg.eigvalsh(product).tolist()
    if strengths[0] <= ALONE * strengths[-1]:
        return None
    parts = torch.linalg.solve(product, wanted)
    square = float(taken.double() @ taken.double())
    if square <= 0 or square - float(parts @ wanted) > RESIDUE * square:
        return None
    shares: list[float] = parts.tolist()
    least = HELD * max(shares)
    kept = [at for at, share in enumerate(shares) if share > least]
    return kept[0] if kept and len(kept) == len(shares) - kept[0] else None


def _able(copy: Copy) -> bool:
    """Whether a parameter and its copy are plain tensors of one device."""
    parameter, held = copy.parameter(), copy.stepped()
    tensors = [one for one in (parameter, held) if one is not None]
    plain = all(
        type(one) in (Tensor, torch.nn.Parameter) and one.layout is torch.strided and one.is_floating_point()
        for one in tensors
    )
    return len(tensors) == 2 and plain and tensors[0].device == tensors[1].device and copy.numel > 0


def _wide(values: Tensor) -> Tensor:
    return values if values.dtype is torch.float64 else values.float()
