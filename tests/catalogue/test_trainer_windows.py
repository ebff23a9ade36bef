"""A framework's window that was seen to run: whose fault it is that a loss is divided by nobody, or twice."""

from __future__ import annotations

from amplint.catalogue import RULES
from amplint.protocol.events import Event, Gate, Kind, Site
from amplint.protocol.readings import TermReading, WindowReading
from amplint.protocol.state import State

MADE, TRAINED = Site("train.py", 3), Site("train.py", 9)
RULE = RULES["ignored-num-items-in-batch"]


def messages(detail, weight=1.0, reading=None, rule=RULE, word="why"):
    """What a rule says of the steps of windows of two micro-steps."""
    state, said = State(), []
    for _ in range(2):
        for _ in range(2):
            list(state.moments(Event(Kind.BACKWARD, MADE, optimizer="o", weight=weight, detail=detail)))
        for moment in state.moments(Event(Kind.STEP, TRAINED, optimizer="o", gate=Gate(TRAINED), reading=reading)):
            if any(condition.possible(Kind.STEP, False, moment.ledger) and condition.certain(moment)
                   for condition in rule.when):  # fmt: skip
                said.append((rule.site(moment), rule.words(moment)[word]))
        list(state.moments(Event(Kind.ZERO_GRAD, TRAINED, optimizer="o")))
    return said


def test_an_override_whose_means_are_added_whole_is_named():
    (site, why), _ = messages({"compute_loss": "compute_loss"})
    assert site == MADE
    assert "the gradient of 2 micro-batches is 2 times" in why


def test_an_override_that_normalizes_is_right():
    assert messages({"compute_loss": "compute_loss"}, weight=0.5) == []


def test_a_loss_that_no_override_made_is_another_rules_affair():
    assert messages({}) == []


def divided(*divisors):
    """What double-loss-division says of two micro-steps whose losses were divided by these numbers."""
    term = TermReading("loss", (0.25, 0.25), (0.25, 0.25), (4.0, 4.0), (4, 4), divisors=divisors)
    reading = WindowReading(2, (term,) if divisors else ())
    return messages({"through": "accelerate"}, 0.25, reading, RULES["double-loss-division"], "n")


def test_two_divisions_of_a_window_of_two_are_seen():
    assert divided((2.0, 2.0), (2.0, 2.0)) == [(MADE, "2"), (MADE, "2")]


def test_one_division_and_a_weight_of_one_half_are_not_two_divisions():
    assert divided((2.0,), (2.0,)) == []
    assert divided() == []
