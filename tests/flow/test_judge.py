"""Which breaches stand: in which runs, against which other runs, and in which form."""

from itertools import permutations

import pytest

from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.flow.breaches import Trace
from amplint.flow.judge import judge
from amplint.protocol.events import STEPS, Event, Gate, Kind, Site
from amplint.protocol.ledger import Grads


def at(row, kind, optimizer="sgd", **parts):
    return Event(kind, Site("train.py", row), optimizer, **parts)


BACK, CLIP, STEP = at(1, Kind.BACKWARD, scaled=True), at(2, Kind.CLIP), at(3, Kind.STEP)
UNSCALE, ZERO = at(4, Kind.UNSCALE), at(5, Kind.ZERO_GRAD)
SCALED_CLIP = Rule(Tier.ERROR, "", "", when=(Condition(Kind.CLIP, grads=Grads.SCALED),), id="scaled-clip")


def law(*rules):
    return {rule.id: rule for rule in rules}


def breaches(traces, *rules):
    return judge(traces, law(*(rules or (SCALED_CLIP,))))


def rows(traces, *rules):
    return [(breach.rule, breach.site.row) for breach in breaches(traces, *rules)]


WRONG, RIGHT = [BACK, CLIP, STEP], [BACK, UNSCALE, CLIP, STEP]


def test_a_rule_is_asked_before_the_event_takes_effect():
    clipped = Rule(Tier.ERROR, "", "", when=(Condition(Kind.CLIP, clipped=False),), id="first-clip")
    assert rows([Trace([BACK, CLIP, at(9, Kind.CLIP)], {})], clipped) == [("first-clip", 2)]


def test_a_rule_without_conditions_has_nothing_to_say_of_moments():
    assert rows([Trace(WRONG, {})], Rule(Tier.ERROR, "", "", find=lambda fact: {}, id="text")) == []


def test_one_mistake_in_many_runs_is_told_once_and_all_are_sorted_by_place():
    late = [at(8, Kind.BACKWARD, scaled=True), at(9, Kind.CLIP)]
    assert rows([Trace([*late, STEP], {"a": True}), Trace([*late, *WRONG], {"a": False})]) == [
        ("scaled-clip", 2),
        ("scaled-clip", 9),
    ]


def test_of_what_came_before_the_first_event_nothing_is_claimed_where_that_is_not_known():
    empty = Rule(Tier.ERROR, "", "", when=(Condition(Kind.CLIP, grads=Grads.NONE),), id="nothing")
    assert rows([Trace([CLIP], {})], empty) == [("nothing", 2)]
    assert rows([Trace([CLIP], {}, open=True)], empty) == []


def played(events, amp, late):
    return Trace(events, {"amp": amp, "late": late}, data=frozenset({"late"}))


def test_what_refutes_a_mistake_in_one_run_refutes_it_in_others_that_nobody_has_played_otherwise():
    traces = [played(WRONG, True, True), played(RIGHT, True, False), played(WRONG, False, True)]
    assert rows(traces) == []
    assert rows([*traces, played(WRONG, False, False)]) == [("scaled-clip", 2)]


def test_a_setting_that_is_none_of_those_that_are_asked_for_is_no_more_than_a_warning():
    def chosen(events, mode):
        return Trace(events, {f"mode == {one}": one == mode for one in ("step", "epoch")})

    (warned,) = breaches([chosen(RIGHT, "step"), chosen(RIGHT, "epoch"), chosen(WRONG, "other")])
    assert warned.mild
    assert warned.assumed == (("mode == step", False), ("mode == epoch", False))
    (told,) = breaches([chosen(RIGHT, "step"), chosen(WRONG, "epoch"), chosen(RIGHT, "other")])
    assert not told.mild


class TestPlace:
    def rule(self, **parts):
        return Rule(Tier.ERROR, "", "", when=(Condition(STEPS, grads=Grads.SCALED),), id="scaled-step", **parts)

    def test_a_finding_points_at_the_event_itself(self):
        assert rows([Trace(WRONG, {})], self.rule()) == [("scaled-step", 3)]

    def test_or_at_an_earlier_one(self):
        assert rows([Trace(WRONG, {})], self.rule(place=Kind.BACKWARD)) == [("scaled-step", 1)]

    def test_or_at_the_event_where_there_was_none_of_that_kind(self):
        assert rows([Trace(WRONG, {})], self.rule(place=Kind.UNSCALE)) == [("scaled-step", 3)]

    def test_or_at_the_event_that_is_of_that_kind_itself(self):
        assert rows([Trace(WRONG, {})], self.rule(place=Kind.STEP)) == [("scaled-step", 3)]

    def test_or_at_the_gate(self):
        gated = at(3, Kind.STEP, gate=Gate(Site("train.py", 7)))
        assert rows([Trace([BACK, gated], {})], self.rule(at_gate=True)) == [("scaled-step", 7)]
        assert rows([Trace(WRONG, {})], self.rule(at_gate=True)) == [("scaled-step", 3)]

    def test_the_witness_holds_the_earlier_events_that_there_were(self):
        because = ((Kind.BACKWARD, "made here"), (Kind.UNSCALE, "unscaled here"))
        (breach,) = breaches([Trace(WRONG, {})], self.rule(because=because))
        assert breach.because == ((Site("train.py", 1), "made here"),)

    def test_what_shows_a_mistake_elsewhere_is_in_its_witness(self):
        rule = self.rule(place=Kind.BACKWARD, because=((Kind.STEP, "used here"),))
        (breach,) = breaches([Trace(WRONG, {})], rule)
        assert breach.because == ((Site("train.py", 3), "used here"),)

    def test_words_are_those_of_the_event_and_of_the_rule(self):
        said = at(3, Kind.STEP, detail={"n": "4", "m": "1"})
        (breach,) = breaches([Trace([BACK, said], {})], self.rule(words=lambda moment: {"n": "8"}))
        assert breach.words == {"n": "8", "m": "1"}


class TestForm:
    def mild(self, found):
        return [breach.mild for breach in found]

    def test_a_warning_is_mild(self):
        rule = Rule(Tier.WARNING, "", "", when=SCALED_CLIP.when, id="w")
        assert self.mild(breaches([Trace(WRONG, {})], rule)) == [True]
        assert self.mild(breaches([Trace(WRONG, {})])) == [False]

    @pytest.mark.parametrize("order", list(permutations([0, 1, 2])))
    def test_the_most_serious_form_of_a_mistake_stands(self, order):
        rule = Rule(
            Tier.ERROR, "", "", when=(Condition(Kind.CLIP),), milder=lambda moment: moment.ledger.clipped, id="c"
        )
        again = [CLIP, CLIP]
        traces = [Trace([*again, STEP], {}), Trace(again, {}), Trace([UNSCALE, *again], {})]
        assert self.mild(breaches([traces[index] for index in order], rule)) == [False]

    def test_a_mild_form_stands_alone(self):
        rule = Rule(Tier.ERROR, "", "", when=SCALED_CLIP.when, milder=lambda moment: True, id="c")
        assert self.mild(breaches([Trace(WRONG, {})], rule)) == [True]


class TestHiding:
    STRONG = Rule(Tier.ERROR, "", "", when=(Condition(Kind.STEP, grads=Grads.SCALED),), hides=("scaled-clip",), id="s")

    def test_a_rule_hides_another_in_the_same_run(self):
        assert rows([Trace(WRONG, {})], SCALED_CLIP, self.STRONG) == [("s", 3)]

    def test_but_not_in_another_run(self):
        traces = [Trace([BACK, CLIP, UNSCALE, STEP], {"a": True}), Trace([BACK, STEP], {"a": False})]
        assert rows(traces, SCALED_CLIP, self.STRONG) == [("scaled-clip", 2), ("s", 3)]


class TestRefuting:
    def pair(self, key, other=RIGHT, **origins):
        return [Trace(WRONG, {key: True}, **origins), Trace(other, {key: False}, **origins)]

    def test_what_holds_under_some_run_constant_stands(self):
        assert rows(self.pair("use_x")) == [("scaled-clip", 2)]

    @pytest.mark.parametrize("origin", ["opaque", "data"])
    def test_what_the_unknown_can_undo_falls(self, origin):
        assert rows(self.pair("helper()", **{origin: frozenset({"helper()"})})) == []

    def test_a_path_on_which_the_place_is_not_reached_undoes_nothing(self):
        assert rows(self.pair("helper()", [BACK, STEP], opaque=frozenset({"helper()"}))) == [("scaled-clip", 2)]

    def test_nor_does_a_run_that_never_steps(self):
        assert rows(self.pair("helper()", RIGHT[:-1], opaque=frozenset({"helper()"}))) == [("scaled-clip", 2)]

    def test_nor_one_in_which_a_run_constant_differs_too(self):
        opaque = frozenset({"helper()"})
        traces = [
            Trace(WRONG, {"helper()": True, "use_x": True}, opaque),
            Trace(RIGHT, {"helper()": False, "use_x": False}, opaque),
        ]
        assert rows(traces) == [("scaled-clip", 2)]

    def test_a_run_constant_that_the_other_run_never_asked_does_not_differ(self):
        opaque = frozenset({"helper()"})
        traces = [
            Trace(WRONG, {"helper()": True, "use_x": True}, opaque),
            Trace(RIGHT, {"helper()": False}, opaque),
        ]
        assert rows(traces) == []

    def test_one_path_over_the_data_is_enough_for_a_rule_that_says_so(self):
        rule = Rule(Tier.ERROR, "", "", when=SCALED_CLIP.when, needs_every_path=False, id="any-path")
        assert rows(self.pair("isnan(loss)", data=frozenset({"isnan(loss)"})), rule) == [("any-path", 2)]
        assert rows(self.pair("helper()", opaque=frozenset({"helper()"})), rule) == []


class TestPrecisionFlags:
    @pytest.mark.parametrize("keys", [("use_amp", "args.fp16"), ("scaler", "half"), ("mixed_precision", "float16")])
    def test_a_run_in_which_two_flags_of_float16_disagree_does_not_exist(self, keys):
        first, second = keys
        assert rows([Trace(WRONG, {first: True, second: False})]) == []
        assert rows([Trace(WRONG, {first: True, second: True})]) == [("scaled-clip", 2)]

    @pytest.mark.parametrize("other", ["dtype == torch.bfloat16", "use_ddp", "clip"])
    def test_other_flags_may_be_anything(self, other):
        assert rows([Trace(WRONG, {"use_amp": True, other: False})]) == [("scaled-clip", 2)]


class TestAssumptions:
    def test_what_a_mistake_depends_on_is_told(self):
        traces = [
            Trace(WRONG, {"use_x": True, "log": True}),
            Trace(WRONG, {"use_x": True, "log": False}),
            Trace(RIGHT, {"use_x": False, "log": True}),
        ]
        (breach,) = breaches(traces)
        assert breach.assumed == (("use_x", True),)

    def test_what_is_wrong_in_every_run_depends_on_nothing(self):
        (breach,) = breaches([Trace(WRONG, {"use_x": True})])
        assert breach.assumed == ()


class TestExceptions:
    """A run that an exception ends."""

    def told(self, other, **parts):
        rule = Rule(Tier.ERROR, "", "", when=(Condition(Kind.CLIP, clipped=True),), id="clipped-twice")
        twice = Trace([BACK, CLIP, CLIP, STEP], {"nan": False}, data=frozenset({"nan"}))
        return rows([twice, Trace(other, {"nan": True}, data=frozenset({"nan"}), **parts)], rule)

    def test_one_that_ends_before_a_mistake_could_show_does_not_refute_it(self):
        assert self.told([BACK, CLIP, STEP], cut=True) == [("clipped-twice", 2)]

    def test_one_that_goes_on_without_the_mistake_does(self):
        assert self.told([BACK, CLIP, STEP]) == []
        assert self.told([BACK, CLIP, STEP, ZERO, BACK, CLIP, STEP], cut=True) == []
