"""What is told of a loss, besides its weight and its precision, where it goes back."""

from __future__ import annotations

from amplint.domains import ignored, loss_arithmetic, precision, ranks
from amplint.machine import libraries
from amplint.protocol.precision import OFF_BY
from amplint.state.run import Run
from amplint.state.values import Loss


def told(run: Run, loss: Loss, scaled: bool | None) -> dict[str, str]:
    """The details of the backward of a loss."""
    trail = loss.trail
    known = loss.whole or (loss.weight is not None and not loss.summed)
    undivided = run.in_framework and trail.shared is None
    true = {"continued": trail.continued, "whole": loss.whole and not loss.factors, "undivided": undivided}
    return {
        **loss_arithmetic.divided_by(run, loss),
        **ranks.averaged(run, loss),
        **ranks.counted(run, loss),
        **libraries.own(run),
        **({"times": " * ".join(sorted(loss.factors))} if known and loss.factors else {}),
        **ignored.told(run, loss),
        **ranks.set_late(run),
        **{name: "yes" for name, holds in true.items() if holds},
        **{name: said for name, said in (("twice", trail.shared), (OFF_BY, trail.off)) if said},
        **precision.scales_elsewhere(run, trail.forward, scaled, trail.off),
    }
