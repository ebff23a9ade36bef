"""Which assignments of run constants a program is run under: all that differ in what happens, up to a limit."""

from collections import Counter
from dataclasses import dataclass, field

from hypothesis import given, settings
from hypothesis import strategies as st

from amplint.flow.choices import MAX_COST, MAX_RUNS, all_runs


@dataclass(frozen=True)
class Played:
    happened: object
    choices: dict[str, bool] = field(default_factory=dict)
    cost: int = 1
    telling: frozenset[str] = frozenset()

    @property
    def turned(self):
        return {key for key, value in self.choices.items() if not value}

    @property
    def barren(self):
        return self.happened is None or self.elsewhere

    @property
    def elsewhere(self):
        return isinstance(self.happened, str) and self.happened.startswith("elsewhere")

    @property
    def stepless(self):
        return self.happened == "no step"


class Program:
    """Asks for conditions as `ask` says, and tells what happened; every run that is made is kept."""

    def __init__(self, ask, cost=1, telling=()):
        self.ask, self.cost, self.telling, self.forced, self.beside = ask, cost, frozenset(telling), [], []

    def __call__(self, forced, beside=None):
        self.forced.append(forced)
        self.beside.append(beside)
        choices = {}

        def decide(key):
            return choices.setdefault(key, forced.get(key, True))

        return Played(self.ask(decide), choices, self.cost, self.telling)


def happened(program, **limits):
    return [run.happened for run in all_runs(program, **limits)[0]]


def test_a_program_that_asks_nothing_is_run_once():
    program = Program(lambda decide: "done")
    assert all_runs(program) == ([Played("done")], True)


def test_two_conditions_give_four_runs_those_that_differ_least_first():
    program = Program(lambda decide: (decide("amp"), decide("clip")))
    assert happened(program) == [(True, True), (False, True), (True, False), (False, False)]


def test_a_condition_is_decided_only_where_it_is_asked():
    program = Program(lambda decide: decide("amp") and decide("clip"))
    runs, complete = all_runs(program)
    assert complete
    assert [run.choices for run in runs] == [{"amp": True, "clip": True}, {"amp": False}]


def refused_last(warm_up, refused):
    return None if refused else warm_up


def test_what_was_tried_where_nothing_trains_is_tried_again_where_something_does():
    program = Program(lambda decide: refused_last(decide("warm-up"), decide("refused")))
    assert set(happened(program)) == {None, True, False}


def test_a_condition_asked_twice_is_decided_once():
    program = Program(lambda decide: (decide("amp"), decide("amp")))
    assert happened(program) == [(True, True), (False, False)]


def test_a_decision_that_changes_nothing_is_not_combined_with_others():
    program = Program(lambda decide: (decide("log"), decide("amp"))[1])
    assert happened(program) == [True, False]
    assert len(program.forced) == 3  # all defaults, no log, no amp: never both


def test_a_decision_that_changes_nothing_by_itself_is_still_met_where_it_does():
    program = Program(lambda decide: decide("clip") if not decide("amp") else "plain")
    assert sorted(map(str, happened(program))) == ["False", "True", "plain"]


def test_decisions_that_change_nothing_are_tried_together():
    program = Program(lambda decide: [decide(name) for name in "abcdefgh"] and "done")
    assert happened(program) == ["done"]
    assert len(program.forced) == 5  # all defaults, then one, two, four and one decisions the other way


def test_of_decisions_tried_together_the_one_that_changes_something_is_found():
    program = Program(lambda decide: [decide(name) for name in "abcdefgh"][5])
    runs, complete = all_runs(program)
    assert complete
    assert [run.choices["f"] for run in runs] == [True, False]
    assert all(run.choices[name] for run in runs for name in "abcdegh")


def test_a_decision_that_most_likely_changes_something_is_tried_alone_and_first():
    program = Program(lambda decide: [decide(name) for name in "abcdefgh"][5], telling="f")
    assert happened(program) == [True, False]
    assert program.forced[1] == dict.fromkeys("abcde", True) | {"f": False}
    assert len(program.forced) == 6  # one, two and four others of the first run, and all of them in the second one


def test_where_one_half_of_several_decisions_changes_nothing_the_other_one_is_not_tried_whole():
    program = Program(lambda decide: [decide(name) for name in "abcdefg"][6])
    assert happened(program) == [True, False]
    tried = [{key for key, value in forced.items() if not value} for forced in program.forced]
    assert tried[3:7] == [set("defg"), set("de"), {"f"}, {"g"}]


def test_what_is_not_asked_when_decisions_are_tried_together_is_tried_by_itself():
    def ask(decide):
        decide("a"), decide("b")
        return "plain" if not decide("c") or decide("d") else "clipped"

    program = Program(ask)
    assert happened(program) == ["plain", "clipped"]


def test_decisions_that_changed_nothing_are_tried_together_in_the_runs_that_follow():
    program = Program(lambda decide: (decide("amp"), [decide(name) for name in "abcdefgh"])[0])
    assert happened(program) == [True, False]
    assert program.forced[-1] == {"amp": False} | dict.fromkeys("abcdefgh", False)
    assert len(program.forced) == 7


def test_a_decision_that_changed_nothing_before_is_found_where_it_does():
    def ask(decide):
        amp, others = decide("amp"), [decide(name) for name in "abcd"]
        return amp, amp or others[2]

    assert happened(Program(ask)) == [(True, True), (False, True), (False, False)]


def test_runs_are_made_up_to_a_limit_and_what_is_missing_is_said():
    program = Program(lambda decide: tuple(decide(name) for name in "abcdefgh"))
    runs, complete = all_runs(program, limit=5)
    assert (len(runs), complete) == (5, False)
    assert len(all_runs(program)[0]) == MAX_RUNS


def test_a_program_that_takes_long_is_run_less_often():
    program = Program(lambda decide: tuple(decide(name) for name in "abcd"), cost=MAX_COST // 2)
    runs, complete = all_runs(program)
    assert (len(runs), complete) == (2, False)


TREES = st.recursive(st.integers(0, 99), lambda inner: st.tuples(st.sampled_from("abc"), inner, inner), max_leaves=10)


def walked(tree, decide):
    path = []
    while isinstance(tree, tuple):
        key, yes, no = tree
        path.append((key, decide(key)))
        tree = yes if path[-1][1] else no
    return tuple(path), tree


def leaves(tree, known=()):
    """Every path through a tree that decides each condition once."""
    if not isinstance(tree, tuple):
        return {known}
    key, yes, no = tree
    values = [value for name, value in known if name == key] or [True, False]
    return set().union(*(leaves(yes if value else no, (*known, (key, value))) for value in values))


@settings(max_examples=60, deadline=None, database=None)
@given(TREES)
def test_every_path_through_a_program_is_run_once(tree):
    program = Program(lambda decide: walked(tree, decide))
    runs, complete = all_runs(program)
    assert complete
    paths = [path for path, _ in (run.happened for run in runs)]
    assert len(paths) == len(set(paths))
    assert set(paths) == leaves(tree)
    assert len(program.forced) == len(paths)


def test_the_last_of_several_options_is_tried_although_the_others_change_nothing():
    def program(decide):
        if decide("precision == 'bf16'") or decide("precision == 'tf32'"):
            return "plain"
        return "plain" if not decide("precision == 'fp16'") else "scaled"

    assert happened(Program(program)) == ["plain", "scaled"]


def test_a_decision_is_not_idle_because_a_run_ended_before_anything_happened():
    def ask(decide):
        if decide("debug"):
            return None
        for guard in "abcdef":
            if decide(guard):
                return None
        return "wrong" if decide("flag") else "right"

    idle = Counter()
    for _ in range(3):  # as when the model is learned: what is idle is remembered
        all_runs(Program(ask), limit=9, idle=idle)
    assert "wrong" in happened(Program(ask), idle=idle)


def test_all_that_lets_a_run_train_stays_so_while_its_other_decisions_are_tried():
    def ask(decide):
        before = [decide(key) for key in "abcdefgh"]
        if decide("frozen") or decide("early"):
            return None
        return "wrong" if not before[3] else "right"

    program = Program(ask)
    assert set(happened(program)) == {None, "right", "wrong"}
    assert len(program.forced) < 32


def test_a_run_in_which_all_would_be_decided_as_in_an_earlier_one_is_not_played_again():
    def ask(decide):
        return None if not decide("train") or decide("frozen") else "step"

    program = Program(ask)
    assert set(happened(program)) == {None, "step"}
    asked = [tuple(one.get(key, True) for key in ("train", "frozen")) for one in program.forced]
    played = [("train off",) if not train else (train, frozen) for train, frozen in asked]
    assert len(played) == len(set(played)) == 3


def test_only_what_is_tried_together_is_played_beside_the_run_that_it_is_told_from():
    program = Program(lambda decide: [decide(key) for key in "abcdefg"] and decide("clip"))
    assert happened(program) == [True, False]
    played = list(zip(program.forced, program.beside, strict=True))
    several = [[key for key, value in forced.items() if not value] for forced, beside in played if beside is not None]
    assert several
    assert all(len(keys) > 1 for keys in several)
    assert {"clip": False} in [
        {key: value for key, value in one.items() if not value} for one, by in played if by is None
    ]


def test_as_long_as_nothing_steps_the_latest_decisions_are_tried_first():
    program = Program(lambda decide: [decide(key) for key in "abcd"] and ("no step" if decide("exploded") else "step"))
    assert happened(program, limit=2) == ["no step", "step"]


def test_what_is_not_asked_any_more_beside_another_decision_is_tried_by_itself():
    def ask(decide):
        decide("first")
        both = decide("amp") and decide("clip")
        return "same" if both or not decide("never") else "other"

    assert set(happened(Program(ask))) == {"same", "other"}

    def together(decide):
        decide("first")
        return "clipped" if decide("amp") and not decide("clip") else "same"

    assert set(happened(Program(together))) == {"same", "clipped"}


def test_what_was_tried_before_any_training_is_tried_where_somebody_else_trains():
    def ask(decide):
        engine = decide("engine")
        if decide("prints only"):
            return None
        return "elsewhere" if engine else "trains"

    assert "trains" in happened(Program(ask))


def test_runs_that_train_are_looked_at_before_those_that_leave_it_to_others():
    def ask(decide):
        engine, others = decide("engine"), tuple(decide(name) for name in "abcdefgh")
        return f"elsewhere {others}" if engine else ("trains", others)

    told = happened(Program(ask), limit=40)
    assert sum(one[0] == "trains" for one in told) > 20
