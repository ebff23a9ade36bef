"""One update after the steps of several optimizers: none is left behind, and no two stand in a row."""

import pytest

from tests.fix.mended import mended

HEAD = """\
import torch


def train(first, second, loader, optimizer, other, both):
    scaler = torch.amp.GradScaler("cuda")
    for x in loader:
        optimizer.zero_grad()
        other.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = first(x).float().mean() + second(x).float().mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
"""
TWICE = """\
        scaler.update()
        scaler.step(other)
        scaler.update()
"""
ONCE = """\
        scaler.step(other)
        scaler.update()
"""
PERHAPS_TWICE = """\
        scaler.update()
        if both:
            scaler.step(other)
            scaler.update()
"""
BEHIND_BOTH = """\
        if both:
            scaler.step(other)
        scaler.update()
"""
TOLD = """\
        scaler.update()  # of the first
        if both:
            # the second
            scaler.step(other)
            scaler.update()  # of the second
            print("both")
"""
STILL_TOLD = """\
        # of the first
        if both:
            # the second
            scaler.step(other)
            print("both")
        scaler.update()  # of the second
"""
IN_A_ROW = """\
        scaler.update()
        scaler.update()
"""
NOT_ALWAYS_STEPPED = """\
        scaler.update()
        if both:
            other.zero_grad()
            scaler.scale(second(x).float().mean()).backward()
            scaler.step(other)
        scaler.update()
"""
WITH_ITS_STEP = """\
        scaler.update()
        if both:
            other.zero_grad()
            scaler.scale(second(x).float().mean()).backward()
            scaler.step(other)
            scaler.update()
"""


@pytest.mark.parametrize(
    ("wrong", "right", "rule"),
    [
        pytest.param(TWICE, ONCE, "scaler-update-order", id="one after each step"),
        pytest.param(PERHAPS_TWICE, BEHIND_BOTH, "scaler-update-order", id="a second one under a condition"),
        pytest.param(TOLD, STILL_TOLD, "scaler-update-order", id="with comments"),
        pytest.param(IN_A_ROW, "        scaler.update()\n", "repeated-update", id="two in a row"),
        pytest.param(NOT_ALWAYS_STEPPED, WITH_ITS_STEP, "repeated-update", id="a step under a condition"),
    ],
)
def test_one_update_follows_the_steps(wrong, right, rule):
    before, after, done = mended(HEAD + wrong)
    assert [finding.code for finding in before.findings] == [rule]
    assert after.script.text == HEAD + right
    assert done == [rule]
    assert after.findings == ()


def test_an_update_in_another_function_is_left_alone():
    helper = "\n\ndef after(scaler):\n    scaler.update()\n"
    called = HEAD + "        scaler.update()\n        scaler.step(other)\n        after(scaler)\n" + helper
    _, after, done = mended(called)
    assert after.script.text == called
    assert done == []


def test_an_update_does_not_go_into_a_loop_that_steps_several_optimizers():
    several = "            for one in (other, third):\n                scaler.step(one)\n"
    source = (HEAD + NOT_ALWAYS_STEPPED).replace("            scaler.step(other)\n", several)
    source = source.replace("other, both):", "other, third, both):")
    before, after, done = mended(source)
    assert [finding.code for finding in before.findings] == ["repeated-update"]
    assert after.script.text == source
    assert done == []
