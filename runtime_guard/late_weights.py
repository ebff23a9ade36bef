"""The weight of a window's loss that was on a device at the step, and arrived later.

What the host knows of a loss enters the ledger with its backward, and the rules are asked at the step. A factor that is
on a device is in no weight of the host (the number of valid tokens that a loss is divided by). Once it has arrived, the
rules are asked about the step again, with the weight where it was missing.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from amplint.catalogue.rule import Rule
from amplint.protocol.state import Moment
from amplint.protocol.values import with_changes
from runtime_guard.questions import Questions
from runtime_guard.windows import Settled


def arrived(settled: Iterable[Settled]) -> Iterator[tuple[Moment, Settled]]:
    """The moments of the steps that numbers have arrived of, each with these numbers."""
    for one in settled:
        yield from ((moment, one) for moment in (one.token if isinstance(one.token, list) else ()))


def broken_late(questions: Questions, moment: Moment, weight: float | None) -> Iterator[tuple[Rule, Moment]]:
    """What a step breaks now that the weight of its loss has arrived, and did not break without."""
    late = weighed(moment, weight)
    if late is not None:
        told = {rule.id for rule in questions.broken(moment)}
        yield from ((rule, late) for rule in questions.broken(late) if rule.id not in told)


def weighed(moment: Moment, weight: float | None) -> Moment | None:
    """A step's moment with the total weight of its window's only loss; None if nothing was missing, or several were."""
    window = moment.ledger.window
    if weight is None or len(window.losses) != 1 or window.losses[0].micro_steps != window.micro_steps:
        return None
    (loss,) = window.losses
    if loss.weight is not None:
        return None
    losses = (with_changes(loss, weight=weight),)
    return with_changes(moment, ledger=with_changes(moment.ledger, window=with_changes(window, losses=losses)))
