"""One slip in a legal window, mended: the program computes the original's numbers again.

After a move they are the same to the last bit, after a division to 1e-6.
"""

from __future__ import annotations

import warnings

import pytest
import torch

from tests.fix.mended import mended
from tests.mutants.windows import LEGAL, STYLES, mutants

SLIPS = [
    "drop divide",
    "drop unscale",
    "drop update",
    "drop zero",
    "move clip out of the gate",
    "move zero out of the gate",
    "move schedule out of the gate",
    "swap unscale and clip",
    "swap clip and step",
    "swap step and schedule",
]
LEGAL_STEP = LEGAL["zeroed after"]
MUTANTS = dict(mutants(LEGAL_STEP))


def numbers(source: str) -> list[torch.Tensor]:
    """The parameters after the run of a script."""
    scope = {"__name__": "__main__"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(source, "program.py", "exec"), scope)
    return [parameter.detach() for parameter in scope["model"].parameters()]


@pytest.mark.parametrize("slip", SLIPS)
def test_what_a_slip_changed_is_mended(slip):
    right, _ = STYLES["script"](LEGAL_STEP)
    wrong, _ = STYLES["script"](MUTANTS[slip])
    before, after, done = mended(wrong)
    assert done, [finding.code for finding in before.findings]
    for expected, found in zip(numbers(right), numbers(after.data.decode()), strict=True):
        close = 1e-6 if slip == "drop divide" else 0.0
        assert torch.allclose(expected, found, rtol=close, atol=close)
