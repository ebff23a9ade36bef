"""Which targets a mean leaves out, and whether the program is known to have such targets."""

from __future__ import annotations

from typing import TYPE_CHECKING

from amplint.state.values import Loss, Symbol, Value, last_part

if TYPE_CHECKING:
    from amplint.state.run import Run

_OVER_CLASSES = frozenset({"CrossEntropyLoss", "cross_entropy", "NLLLoss", "nll_loss"})
_BY_DEFAULT = -100
"""`ignore_index` of torch's criteria over classes (torch 2.13)."""

OF_LABELS = "labels"
"""What the loss leaves out that a model returns: -100 in transformers 4.57 (`loss/loss_utils.py`), as far as known."""


def by_criterion(name: str, keywords: dict[str, Value]) -> str:
    """The value of targets that a criterion of torch leaves out: a number, or the last part of a name."""
    if name not in _OVER_CLASSES:
        return ""
    value = keywords.get("ignore_index", _BY_DEFAULT)
    if isinstance(value, Symbol):
        return last_part(value.text)
    return str(int(value)) if isinstance(value, int) else ""


def told(run: Run, loss: Loss) -> dict[str, str]:
    """The value of targets that a mean leaves out, if the program has such targets, and not always as many."""
    if not loss.ignores or loss.weight in (None, 1) or loss.summed:
        return {}  # no mean of a part of a window: nothing needs to be looked for
    values = run.program.ignored()
    if loss.ignores == OF_LABELS:
        value = next((one for one in sorted(values) if one == str(_BY_DEFAULT) or "ignore" in one.lower()), "")
    else:
        value = loss.ignores if loss.ignores in values else ""
    return {"ignored": value} if value else {}
