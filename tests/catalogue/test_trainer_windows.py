"""A trainer's window that was seen to run: whose fault an undivided loss is."""

from __future__ import annotations

from amplint.catalogue import RULES
from amplint.protocol.events import Event, Gate, Kind, Site
from amplint.protocol.state import State

MADE, TRAINED = Site("train.py", 3), Site("train.py", 9)
RULE = RULES["ignored-num-items-in-batch"]


def messages(detail, weight=1.0):
    """What the rule says of the second step of windows of two micro-steps."""
    state, said = State(), []
    for _ in range(2):
        for _ in range(2):
            list(state.moments(Event(Kind.BACKWARD, MADE, optimizer="o", weight=weight, detail=detail)))
        for moment in state.moments(Event(Kind.STEP, TRAINED, optimizer="o", gate=Gate(TRAINED))):
            if any(condition.possible(Kind.STEP, False, moment.ledger) and condition.certain(moment)
                   for condition in RULE.when):  # fmt: skip
                said.append((RULE.site(moment), RULE.words(moment)["why"]))
        list(state.moments(Event(Kind.ZERO_GRAD, TRAINED, optimizer="o")))
    return said


def test_an_override_whose_means_are_added_whole_is_named():
    (site, why), _ = messages({"compute_loss": "the user's"})
    assert site == MADE
    assert "the gradient of 2 micro-batches is 2 times" in why


def test_an_override_that_normalizes_is_right():
    assert messages({"compute_loss": "the user's"}, weight=0.5) == []


def test_a_loss_that_no_override_made_is_another_rules_affair():
    assert messages({}) == []
