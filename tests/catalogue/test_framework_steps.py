"""Steps that a framework was seen to take by itself: an engine that counts its calls, a schedule that it moves on."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from amplint.catalogue import RULES
from amplint.catalogue.through import bypassed, clip_words
from amplint.protocol.events import RUN_WHOLE, Event, Gate, Kind, Site
from amplint.protocol.ledger import Grads
from amplint.protocol.state import State

HERE, THERE = Site("train.py", 3), Site("train.py", 9)
RULE = RULES["gated-framework-step"]


def told(state, event):
    """What the rule says of an event."""
    return [
        RULE.words(moment)
        for moment in state.moments(event)
        for condition in RULE.when
        if condition.possible(event.kind, moment.of_scheduler, moment.ledger) and condition.certain(moment)
    ]


def stepped(micro_steps, calls, gate):
    """What is said of a step after so many micro-steps, by an engine that steps once in so many calls."""
    state = State()
    for _ in range(micro_steps):
        list(state.moments(Event(Kind.BACKWARD, HERE, optimizer="o")))
    return told(state, Event(Kind.STEP, THERE, optimizer="o", gate=gate, detail={"calls": calls}))


def test_an_engine_that_is_called_once_in_its_window_steps_once_in_many():
    (words,) = stepped(8, "2", Gate(THERE, "accum_steps"))
    assert words["what"] == (
        "the framework steps once in 2 calls: called once in 4 micro-steps, it steps once in 2 x 4 of them"
    )
    assert words["remedy"] == "call it on every micro-step"


@pytest.mark.parametrize(
    ("micro_steps", "calls", "gate"),
    [
        (2, "2", Gate(THERE, "accum_steps")),
        (5, "2", Gate(THERE, "accum_steps")),
        (8, "1", Gate(THERE, "accum_steps")),
        (8, "2", Gate(THERE)),
        (8, "2", None),
    ],
    ids=["each micro-step", "no multiple", "no window", "no count", "no gate"],
)
def test_an_engine_that_may_be_called_on_every_micro_step_is_right(micro_steps, calls, gate):
    assert stepped(micro_steps, calls, gate) == []


def added(micro_steps, whole, weight, **said):
    """What is said of a gated step after so many micro-steps, which a framework has run in whole windows."""
    state = State()
    for _ in range(micro_steps):
        list(state.moments(Event(Kind.BACKWARD, HERE, optimizer="o", weight=weight, detail={RUN_WHOLE: whole})))
    event = Event(Kind.STEP, THERE, optimizer="o", **{"gate": Gate(THERE, "every"), "detail": {"held": "yes"}, **said})
    return told(state, event)


def test_windows_that_a_framework_has_run_whole_are_added_by_a_gated_step():
    (words,) = added(8, "4", 0.25)
    assert words["what"].endswith("stepped once in 2 of them, the gradient is 2 times that of the equivalent batch")


@pytest.mark.parametrize(
    ("micro_steps", "whole", "weight", "said"),
    [
        (4, "4", 0.25, {}),
        (6, "4", 0.25, {}),
        (8, "4", 0.125, {}),
        (8, "yes", 0.25, {}),
        (8, "4", 0.25, {"gate": None}),
        (8, "4", 0.25, {"detail": {}}),
    ],
    ids=["one window", "no multiple", "divided by both", "of no known length", "no gate", "erased on the way"],
)
def test_windows_that_are_stepped_one_by_one_are_right(micro_steps, whole, weight, said):
    assert added(micro_steps, whole, weight, **said) == []


def schedule(**detail):
    """One step of the schedule."""
    return Event(Kind.SCHEDULER_STEP, THERE, optimizer="o", scheduler="s", detail=detail)


def test_a_schedule_that_the_framework_has_moved_on_is_stepped_twice():
    state = State()
    list(state.moments(schedule(through="deepspeed", moves="`engine.step()`")))
    (words,) = told(state, schedule())
    assert words == {
        "what": "the schedule's step is taken by `engine.step()` already: it is taken twice",
        "remedy": "leave it to `engine.step()`",
    }


def test_a_schedule_that_only_the_user_moves_on_is_right():
    state = State()
    list(state.moments(schedule()))
    assert told(state, schedule()) == []


def test_what_the_framework_moves_on_again_is_its_own_affair():
    state = State()
    list(state.moments(schedule(through="deepspeed", moves="`engine.step()`")))
    assert told(state, schedule(through="deepspeed", moves="`engine.step()`")) == []


def moment_after(last, **detail):
    """A moment of a step with what its event says, after another event."""
    return SimpleNamespace(
        event=Event(Kind.STEP, HERE, detail=detail), last={last.kind: last}, ledger=SimpleNamespace(grads=Grads.SCALED)
    )


def test_a_backward_of_torch_is_as_good_where_the_outputs_of_the_model_divide_by_themselves():
    past, plain = bypassed(Kind.BACKWARD, "backward"), Event(Kind.BACKWARD, HERE)
    assert past(moment_after(plain, backward="engine.backward(loss)"))
    assert not past(moment_after(plain, backward="engine.backward(loss)", plain="4"))


def test_a_clip_that_meets_no_gradient_is_told_so():
    there = Event(Kind.CLIP, HERE)
    assert "a loss scale" in clip_words(moment_after(there))["missed"]
    gathered = Event(Kind.CLIP, HERE, detail={"meets": "none"})
    assert clip_words(moment_after(gathered)) == {"missed": "it has gathered them elsewhere, and the clip meets none"}
    earlier = Event(Kind.CLIP, HERE, detail={"meets": "earlier"})
    assert "the earlier micro-steps alone" in clip_words(moment_after(earlier))["missed"]
