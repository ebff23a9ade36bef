"""Every one-step mutant of a legal window, executed: torch refuses it, the guard finds it, or it is listed."""

import pytest

from amplint.catalogue import RULES
from amplint.catalogue.rule import Tier
from tests.mutants.test_mutants import NOT_KNOWN_INSIDE, SILENT
from tests.mutants.windows import LEGAL, STYLES, mutants
from tests.runtime.live import guarded

ALL = [
    pytest.param(window, name, step, id=f"{window}: {name}")
    for window, legal in LEGAL.items()
    for name, step in mutants(legal)
]


def found(step, folder):
    """The rules that the guard names, those off by default left out; None where torch or Python refuses the program."""
    source, run = STYLES["script"](step)
    try:
        codes = {one.code for one in guarded(source + run, folder).violations}
    except (AssertionError, NameError, RuntimeError):
        return None
    return {code for code in codes if RULES[code].tier is not Tier.OPT_IN}


@pytest.mark.parametrize("window", LEGAL)
def test_a_legal_window_is_silent(window, tmp_path):
    assert found(LEGAL[window], tmp_path) == set()


@pytest.mark.parametrize(("window", "name", "step"), ALL)
def test_a_mutant_is_refused_or_found_or_listed(window, name, step, tmp_path):
    codes = found(step, tmp_path)
    if codes and all(RULES[code].needs_a_run for code in codes):
        return
    if {name, f"{window}: {name}"} & {*SILENT, *NOT_KNOWN_INSIDE}:  # the run is too short for those
        assert not codes, f"{codes} speaks where the linter is silent"
    else:
        assert codes is None or codes, f"nobody notices {name!r}"
