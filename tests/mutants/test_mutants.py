"""Every one-step mutant of a legal window is refused by torch, found by a rule, or listed here with the reason."""

import warnings
from functools import cache

import pytest

from amplint.analysis import findings_of
from amplint.catalogue import RULES
from amplint.catalogue.rule import Tier
from tests.mutants.windows import LEGAL, STYLES, mutants

HARMLESS = {
    "double forward": "the first forward is thrown away: the same numbers for twice the time",
    "drop clip": "a window without a clip is legal",
    "double clip": "what is within the threshold is clipped to itself",
    "double zero": "what is zero is zeroed",
    "swap update and zero": "the scaler does not look at gradients when it updates",
    "swap update and schedule": "neither looks at the other",
    "zeroed after: swap zero and schedule": "neither looks at the other",
}
NOT_YET: dict[str, str] = {}  # the rule that is to find it; there is none yet, or it needs a run
SILENT = HARMLESS | NOT_YET
OF_A_STYLE = {  # what one way to spell the loop keeps from being noticed
    "notebook: move backward into the gate": "two updates in all are too few to tell a habit",
    "closure: drop step": "who steps an optimizer of the module is not known inside a function",
    "generator: drop step": "a generator may do anything with what it hands out",
    "twins: drop step": "the other branch steps",
    "function: drop schedule": "whoever passed the scheduler in may step it",
    "twins: drop schedule": "whoever passed the scheduler in may step it",
}
ALIKE = ("script", "function", "class")  # what the rules say is the same in these to the letter

ALL = [
    pytest.param(window, name, step, id=f"{window}: {name}")
    for window, legal in LEGAL.items()
    for name, step in mutants(legal)
]
STYLED = pytest.mark.parametrize("style", STYLES)
SHARED = 16
"""Each mutant is tried in the styles that say the same to the letter, and in one of so many of the others."""


def in_styles():
    """Every mutant, in the styles that it is tried in; each style has its share of them."""
    for number, param in enumerate(ALL):
        for place, style in enumerate(STYLES):
            if style in ALIKE or (number + place) % SHARED == 0:
                yield pytest.param(*param.values, style, id=f"{param.id}-{style}")


@cache
def found(step, style):
    """The rules, of those that are on by default, that speak of a program."""
    source, _ = STYLES[style](step)
    told = {finding.code for finding in findings_of(source, "window.py")}
    return frozenset(code for code in told if RULES[code].tier is not Tier.OPT_IN)


@cache
def refused(step, style="script"):
    """Whether torch, or Python, raises when the program runs."""
    source, run = STYLES[style](step)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            exec(compile(source + run, "window.py", "exec"), {"__name__": "window"})
        except (AssertionError, NameError, RuntimeError):
            return True
    return False


@STYLED
@pytest.mark.parametrize("window", LEGAL)
def test_a_legal_window_runs_and_nothing_is_said(window, style):
    assert not refused(LEGAL[window], style)
    assert found(LEGAL[window], style) == frozenset()


@pytest.mark.parametrize(("window", "name", "step", "style"), list(in_styles()))
def test_a_mutant_is_refused_or_found_or_listed(window, name, step, style):
    told = found(step, style)
    if f"{style}: {name}" in OF_A_STYLE:
        assert not told, f"{told} speaks: {style}: {name!r} must go from the list"
    elif {name, f"{window}: {name}"} & set(SILENT):
        assert not told, f"{told} speaks: {name!r} must go from the list"
        assert not refused(step), f"torch refuses it: {name!r} needs no reason in the list"
    else:
        assert told or refused(step), f"nobody notices {name!r}"


def test_the_list_names_mutants_that_exist():
    made = {spelled for window, name, _ in (param.values for param in ALL) for spelled in (name, f"{window}: {name}")}
    assert set(SILENT) <= made


@pytest.mark.parametrize("rule", sorted(set(NOT_YET.values())))
def test_a_rule_that_is_still_to_find_something_cannot_yet(rule):
    assert rule not in RULES or RULES[rule].needs_a_run


@pytest.mark.parametrize(("window", "name", "step"), ALL)
def test_the_same_is_said_in_a_function_and_in_a_class(window, name, step):
    told = {found(step, style) for style in ALIKE}
    # Without a backward nothing is accumulated, and only a script is known to begin empty. A function whose loss is not
    # bound yet ends there, and nothing is said of what follows.
    listed = any(f"{style}: {name}" in OF_A_STYLE for style in ALIKE)
    assert len(told) == 1 or listed or name == "drop backward" or reads_an_unbound_loss(step)


def reads_an_unbound_loss(step):
    """Whether the loss is divided or back-propagated before the forward that binds it."""
    names = [act.name for act in step]
    return "forward" in names and names.index("forward") > min(names.index(one) for one in names if one in USING)


USING = {"divide", "backward"}


@pytest.mark.parametrize("window", LEGAL)
def test_a_clip_that_no_step_follows_is_not_called_early(window):
    step = dict(mutants(LEGAL[window]))["drop step"]
    assert "clip-before-backward" not in found(step, "script")
