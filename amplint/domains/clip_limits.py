"""The threshold of a clip: whether it is one at all, carries the loss scale, or is another on each micro-step."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from amplint.dialects import vocabulary as words
from amplint.dialects.vocabulary import within
from amplint.domains import loss_scales
from amplint.flow import program as ir
from amplint.protocol.events import STEPS, Kind
from amplint.state.values import Incomplete, Symbol, Value, text_of

if TYPE_CHECKING:
    from amplint.state.run import Run

ENDLESS = 1e6
"""A norm that no gradients have, whether or not they carry a loss scale of the usual size."""
_INFINITE, _HUGE = re.compile(r"\binf(inity)?\b"), within(words.HUGE)
TURNS = "turns"
"""The detail of a clip whose threshold is another on each micro-step, or is not known to be the same."""


def endless(limit: Value) -> bool:
    """Whether a clip with this threshold changes nothing."""
    if limit is None:
        return False
    if isinstance(limit, (int, float)):
        return limit >= ENDLESS
    return _INFINITE.search(text_of(limit)) is not None or (isinstance(limit, Symbol) and _HUGE(limit.name))


def told(run: Run, given: list[Value], keywords: dict[str, Value], at: ir.Span) -> dict[str, str]:
    """What is said of a clip that is given these besides the gradients."""
    limit = threshold(given, keywords)
    if limit is None:
        return {TURNS: "yes"} if isinstance(keywords, Incomplete) else {}
    said = {"limit": text_of(limit)} | ({"carries": "yes"} if loss_scales.carries(run, limit) else {})
    _compare(run, at, said)
    return said


def told_elsewhere(run: Run, values: list[Value], at: ir.Span) -> dict[str, str]:
    """What is said of a clip of another module's, any argument of which may say how much it clips, and when."""
    said = {"handed": ", ".join(map(text_of, values))}
    _compare(run, at, said)
    return said


def threshold(given: list[Value], keywords: dict[str, Value]) -> Value:
    """The threshold among what a clip is given besides the gradients."""
    return given[0] if given else keywords.get("max_norm", keywords.get("clip_value"))


def _compare(run: Run, at: ir.Span, detail: dict[str, str]) -> None:
    """Marks a clip, and those of the same place in the same window, where their thresholds are not the same."""
    here = run.site(at)
    for event in reversed(run.events):
        if event.kind in STEPS:
            return
        if (
            event.kind is Kind.CLIP
            and event.site == here
            and any(event.detail.get(key) != detail[key] for key in detail)
        ):
            event.detail[TURNS] = detail[TURNS] = "yes"
            return
