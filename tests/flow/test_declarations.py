"""What can be declared of a rule, and what cannot."""

import pytest

from amplint.catalogue.examples import examples
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.flow.breaches import Trace
from amplint.flow.judge import judge
from amplint.protocol.events import STEPS, Event, Gate, Kind, Site
from amplint.protocol.ledger import Grads


def at(kind, row=1, **parts):
    return Event(kind, Site("train.py", row), **{"optimizer": "sgd", **parts})


BACK, CLIP, STEP = at(Kind.BACKWARD), at(Kind.CLIP, 2), at(Kind.STEP, 3)
SCHEDULE = at(Kind.SCHEDULER_STEP, 4, scheduler="cosine")


def rows(condition, *events):
    rule = Rule(Tier.ERROR, "", "", when=(condition,), id="rule")
    return [breach.site.row for breach in judge([Trace(events, {})], {"rule": rule})]


def test_a_condition_names_one_kind_or_several():
    assert rows(Condition(Kind.CLIP), BACK, CLIP, STEP) == [2]
    assert rows(Condition({Kind.CLIP, *STEPS}), BACK, CLIP, STEP) == [2, 3]


@pytest.mark.parametrize("wanted", [Grads.PLAIN, {Grads.PLAIN, Grads.SCALED}, lambda grads: grads is not Grads.NONE])
def test_a_part_is_asked_for_by_value_by_values_or_by_a_question(wanted):
    assert rows(Condition(Kind.CLIP, grads=wanted), BACK, CLIP) == [2]
    assert rows(Condition(Kind.CLIP, grads=wanted), CLIP, BACK) == []


def test_every_part_has_to_hold_and_so_has_the_question_about_the_moment():
    assert rows(Condition(Kind.CLIP, grads=Grads.PLAIN, micro_steps=2), BACK, CLIP) == []
    assert rows(Condition(Kind.CLIP, micro_steps=1, also=lambda moment: Kind.STEP in moment.last), BACK, CLIP) == []


def test_a_part_of_the_cadence_makes_it_a_condition_of_schedulers():
    assert rows(Condition(Kind.SCHEDULER_STEP, lead=0), BACK, STEP, SCHEDULE) == [4]
    assert rows(Condition(STEPS, updates=0), SCHEDULE, STEP) == [3]
    assert rows(Condition(STEPS, steps=0), SCHEDULE, STEP) == [3]


def test_a_part_of_the_ledger_that_has_many_values_can_be_asked_for_too():
    made = at(Kind.CREATE, 0, detail={"algorithm": "SGD"})
    assert rows(Condition(Kind.CLIP, algorithm="SGD"), made, BACK, CLIP) == [2]
    assert rows(Condition(Kind.CLIP, algorithm="Adam"), made, BACK, CLIP) == []


def test_a_part_that_nothing_has_cannot_be_asked_for():
    with pytest.raises(TypeError, match="'grad'"):
        Condition(Kind.CLIP, grad=Grads.PLAIN)


def test_a_rule_of_numbers_alone_needs_a_run():
    assert Rule(Tier.ERROR, "", "", observe=lambda moment: None).needs_a_run
    assert not Rule(Tier.ERROR, "", "", observe=lambda moment: None, when=(Condition(Kind.CLIP),)).needs_a_run
    assert not Rule(Tier.ERROR, "", "", find=lambda fact: None).needs_a_run


def test_a_rule_that_is_to_point_at_a_gate_remembers_the_last_one():
    gate = Gate(Site("train.py", 9))
    rule = Rule(Tier.ERROR, "", "", when=(Condition(Kind.ZERO_GRAD),), at_gate=True, id="rule")
    (breach,) = judge([Trace([BACK, at(Kind.STEP, 3, gate=gate), at(Kind.ZERO_GRAD, 4)], {})], {"rule": rule})
    assert breach.site == gate.site


def test_an_example_with_a_word_that_nobody_reads_is_an_error():
    with pytest.raises(ValueError, match="unknown word in ```python bda: bda"):
        list(examples("```python bda\nx = 1\n```\n"))
