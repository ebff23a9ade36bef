"""Training programs that nobody wrote: on each that runs to its end, the linter and the guard say the same."""

import os
from unittest.mock import patch

from hypothesis import HealthCheck, Phase, assume, given, settings

from amplint.analysis import findings_of
from amplint.catalogue import RULES
from tests.runtime.grown import programs
from tests.runtime.live import guarded

BOTH = {name for name, rule in RULES.items() if rule.when}
REFUSED = (RuntimeError, AssertionError, NameError)
ONE_MISTAKE = {"ineffective-loss-division": "missing-loss-division"}  # divided after the step: nobody sees that it was
MEASURED = {name for name in BOTH if RULES[name].observe is not None}  # numbers that the text does not tell
some = settings(
    max_examples=20,
    deadline=None,
    database=None,
    derandomize=True,
    phases=[Phase.generate, Phase.shrink],
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.filter_too_much],
)


def suspected(source):
    """What the linter says, with its rows, of the rules that both halves have."""
    return {(one.code, one.place.row) for one in findings_of(source, "grown.py") if one.code in BOTH}


def confirmed(source, folder):
    """What the guard says, with mixed precision on and off; None where torch or Python refuses the program."""
    found = set()
    for choice in ("0", "1") if "use_amp" in source.partition("model =")[2] else ("1",):
        try:
            with patch.dict(os.environ, {"USE_AMP": choice}):
                violations = guarded(source, folder, optimizer=[]).violations
        except REFUSED:
            return None
        found |= {(one.code, one.site.row) for one in violations if one.code in BOTH}
    return found


REHEARSED = {"scaler-without-autocast", "scaler-with-bfloat16"}
"""On a CPU a scaler is a rehearsal for CUDA: live nothing is said of what it is good for."""


AT_A_GATE = {"dropped-tail-window"}
"""Where a window has two gates, the linter names both and the guard the one that came last."""
NAMED = {"wrong-loss-divisor"}
"""Of what a divisor is the length, the text says; where windows are uneven, the number alone does not."""


def without_exceptions(suspected, confirmed):
    """Both, less what only one half can know."""
    same = {(ONE_MISTAKE.get(code, code), 0 if code in AT_A_GATE else row) for code, row in suspected}
    seen = {(ONE_MISTAKE.get(code, code), 0 if code in AT_A_GATE else row) for code, row in confirmed}
    measured = {(code, row) for code, row in seen - same if code in MEASURED}
    told = {(code, row) for code, row in same - seen if code in REHEARSED | NAMED}
    return same - told, seen - measured


@some
@given(programs)
def test_both_halves_say_the_same(tmp_path, program):
    source = program.source()
    live = confirmed(source, tmp_path)
    assume(live is not None)
    same, seen = without_exceptions(suspected(source), live)
    assert same == seen, source


def test_a_difference_would_be_seen():
    assert without_exceptions({("missing-zero-grad", 1)}, set()) == ({("missing-zero-grad", 1)}, set())
    assert without_exceptions(set(), {("missing-zero-grad", 1)}) == (set(), {("missing-zero-grad", 1)})
