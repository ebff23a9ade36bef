"""Every one-step mutant of a legal window, executed: torch refuses it, the guard finds it, or it is listed.

The script is run with all of them, every other style with a share.
"""

import pytest

from amplint.catalogue import RULES
from amplint.catalogue.rule import Tier
from tests.mutants.test_mutants import SILENT
from tests.mutants.windows import LEGAL, STYLES, mutants
from tests.runtime.live import guarded

NOT_IN_TWO_EPOCHS = {"drop schedule"}  # the guard waits longer before it calls a scheduler forgotten
ALL = [(window, name, step) for window, legal in LEGAL.items() for name, step in mutants(legal)]
OTHERS = tuple(style for style in STYLES if style != "script")
SHARE = 40  # every style runs each fortieth mutant, and each begins at another one
CHOSEN = [("script", *one) for one in ALL]
CHOSEN += [(style, *one) for at, style in enumerate(OTHERS) for one in ALL[at::SHARE]]
PARAMS = [pytest.param(*one, id=f"{one[0]}: {one[1]}: {one[2]}") for one in CHOSEN]


def found(step, style, folder):
    """The rules that the guard names, those off by default left out; None where torch or Python refuses the program."""
    source, run = STYLES[style](step)
    try:
        codes = {one.code for one in guarded(source + run, folder).violations}
    except (AssertionError, NameError, RuntimeError):
        return None
    return {code for code in codes if RULES[code].tier is not Tier.OPT_IN}


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("window", LEGAL)
def test_a_legal_window_is_silent(window, style, tmp_path):
    assert found(LEGAL[window], style, tmp_path) == set()


@pytest.mark.parametrize(("style", "window", "name", "step"), PARAMS)
def test_a_mutant_is_refused_or_found_or_listed(style, window, name, step, tmp_path):
    codes = found(step, style, tmp_path)
    if codes and all(RULES[code].needs_a_run for code in codes):
        return
    if {name, f"{window}: {name}"} & {*SILENT, *NOT_IN_TWO_EPOCHS}:
        assert not codes, f"{codes} speaks where the linter is silent"
    else:
        assert codes is None or codes, f"nobody notices {name!r}"
