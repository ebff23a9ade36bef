"""One slip in a legal window, mended: the program computes the original's numbers again.

After a move they are the same to the last bit after ten updates, after a division to 1e-6.
"""

from __future__ import annotations

import warnings
from functools import cache

import pytest
import torch

from amplint.catalogue import RULES
from tests.fix.mended import mended
from tests.mutants.windows import LEGAL, STYLES, mutants

LEFT = {  # what is found and not all mended, and why
    "drop backward": "there is no backward after which it could be clipped",
    "move divide into the gate": "a divisor that is wrong may be meant otherwise",
    "swap divide and step": "the step stands before the first backward",
    "swap divide and zero": "the zeroing and the division are both at the wrong place",
    "swap backward and unscale": "the backward stands under the gate",
    "swap backward and clip": "the backward stands under the gate",
    "swap backward and step": "the backward stands under the gate",
    "swap backward and update": "the backward stands under the gate",
    "swap backward and zero": "the backward stands under the gate",
    "swap backward and schedule": "the backward stands under the gate",
    "swap zero and divide": "the zeroing and the division are both at the wrong place",
    "swap zero and backward": "the backward stands before the gradients are zeroed",
    "swap zero and unscale": "the unscaling stands before the first backward",
    "swap zero and step": "the step stands before the first backward",
    "swap unscale and zero": "what is zeroed has been needed, and what is unscaled is not there",
}
BASIC = [
    "drop divide",
    "drop unscale",
    "drop update",
    "drop zero",
    "move clip out of the gate",
    "move zero out of the gate",
    "move step out of the gate",
    "move schedule out of the gate",
    "swap unscale and clip",
    "swap clip and step",
    "swap step and schedule",
]
SHARE = 8
"""Of the other slips, one in so many is tried."""
TRIED = [
    (window, slip, step)
    for window, legal in LEGAL.items()
    for at, (slip, step) in enumerate(mutants(legal))
    if "forward" not in slip and ((window == "zeroed after" and slip in BASIC) or at % SHARE == 0)
]  # before the forward there is no loss: such a program raises, mended or not


def spelled(step) -> str:
    """The script of a step, ten updates long."""
    return STYLES["script"](step)[0].replace("epochs = 2\n", "epochs = 5\n")


def numbers(source: str) -> list[torch.Tensor]:
    """The parameters after the run of a script."""
    scope = {"__name__": "__main__"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(source, "program.py", "exec"), scope)
    return [parameter.detach() for parameter in scope["model"].parameters()]


@cache
def right(window: str) -> list[torch.Tensor]:
    return numbers(spelled(LEGAL[window]))


@pytest.mark.parametrize(("window", "slip", "step"), TRIED, ids=lambda value: value if isinstance(value, str) else "")
def test_what_a_slip_changed_is_mended(window, slip, step):
    before, after, done = mended(spelled(step))
    if slip in LEFT:
        assert after.findings, "it is all mended: it must go from the list"
    elif not any(RULES[finding.code].remedy for finding in before.findings):
        assert not done
    else:
        assert done, [finding.code for finding in before.findings]
        for expected, found in zip(right(window), numbers(after.script.text), strict=True):
            close = 1e-6 if "divide" in slip else 0.0
            assert torch.allclose(expected, found, rtol=close, atol=close)
