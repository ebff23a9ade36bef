"""A gate that is moved takes along whatever asks for the same place in the window, or it stays."""

from __future__ import annotations

import pytest

from tests.fix.mended import changed, mended

LOOP = """\
import contextlib

import torch


def train(model, loader, criterion, optimizer, accum_steps, far):
    updates = 0
    for i, (x, y) in enumerate(loader):
        BEFORE
        loss = criterion(model(x), y) / accum_steps
        loss.backward()
        if i % accum_steps == 0:
            optimizer.step()
            optimizer.zero_grad()
        AFTER
    BEHIND
    return updates
"""
OLD, NEW = "-         if i % accum_steps == 0:", "+         if (i + 1) % accum_steps == 0:"


def loop(before: str = "pass", after: str = "pass", behind: str = "pass") -> str:
    texts = {"        BEFORE": before, "        AFTER": after, "    BEHIND": behind}
    text = LOOP
    for mark, lines in texts.items():
        margin = mark[: len(mark) - len(mark.lstrip())]
        text = text.replace(mark, "\n".join(margin + line for line in lines.split("\n")))
    return text


MOVES = {
    "a flag of DDP": (
        loop("model.require_backward_grad_sync = i % accum_steps == 0"),
        [
            "-         model.require_backward_grad_sync = i % accum_steps == 0",
            "+         model.require_backward_grad_sync = (i + 1) % accum_steps == 0",
            *(OLD, NEW),
        ],
    ),
    "a flag of DDP under a name": (
        loop("last = not i % accum_steps\nmodel.require_backward_grad_sync = last"),
        ["-         last = not i % accum_steps", "+         last = not (i + 1) % accum_steps", OLD, NEW],
    ),
    "a call of FSDP2": (
        loop("model.set_requires_gradient_sync(i % accum_steps == 0)"),
        [
            "-         model.set_requires_gradient_sync(i % accum_steps == 0)",
            "+         model.set_requires_gradient_sync((i + 1) % accum_steps == 0)",
            *(OLD, NEW),
        ],
    ),
    "a context that is chosen": (
        loop("context = model.no_sync() if i % accum_steps else contextlib.nullcontext()"),
        [
            "-         context = model.no_sync() if i % accum_steps else contextlib.nullcontext()",
            "+         context = model.no_sync() if (i + 1) % accum_steps else contextlib.nullcontext()",
            *(OLD, NEW),
        ],
    ),
    "a counter of updates": (
        loop(after="if i % accum_steps == 0:\n    updates += 1"),
        [OLD, NEW, OLD, NEW],
    ),
    "a flush behind the loop": (
        loop(behind="if i % accum_steps != 0:\n    optimizer.step()\n    optimizer.zero_grad()"),
        [OLD, NEW, "-     if i % accum_steps != 0:", "+     if (i + 1) % accum_steps != 0:"],
    ),
}
STAYS = {
    "what is logged": loop(after="if i % accum_steps == 0:\n    print(i, loss.item())"),
    "what is logged in a line": loop(after="print(i % accum_steps)"),
    "a gate of another length": loop(after="if i % far == 0:\n    updates += 1"),
    "a flag that was right already": loop("model.require_backward_grad_sync = (i + 1) % accum_steps == 0"),
    "another loop over the same name": loop(behind="for i in range(9):\n    updates += i % accum_steps"),
}
UNKNOWN = {
    "a flag by another expression": loop("model.require_backward_grad_sync = i // accum_steps * accum_steps == i"),
    "a flag that a function decides": loop("model.set_requires_gradient_sync(far(i))"),
    "a flag by what the counter gives": loop("place = far(i)\nmodel.set_is_last_backward(place == 0)"),
    "a context that a function decides": loop(
        "with model.no_sync() if far(i) else contextlib.nullcontext():\n    pass"
    ),
}


@pytest.mark.parametrize("name", MOVES)
def test_what_asks_for_the_same_moves_with_the_gate(name):
    source, expected = MOVES[name]
    assert changed(source) == expected


@pytest.mark.parametrize("name", STAYS)
def test_what_tells_the_user_or_asks_for_something_else_stays(name):
    assert changed(STAYS[name]) == [OLD, NEW]


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_gate_stays_where_the_ranks_may_be_told_something_else(name):
    before, after, done = mended(UNKNOWN[name])
    assert after is before
    assert done == []
    assert "early-first-window" in {finding.code for finding in before.findings}


FLAGGED = """\
import torch


class Trainer:
    def fit(self, model, loader, criterion, optimizer, accum_steps):
        for self.at, (x, y) in enumerate(loader):
            loss = criterion(model(x), y) / accum_steps
            loss.backward()
            self.end(optimizer, accum_steps)

    def end(self, optimizer, accum_steps):
        if self.at % accum_steps == 0:
            optimizer.step()
            optimizer.zero_grad()

    def begin(self, model, accum_steps):
        model.require_backward_grad_sync = self.at % accum_steps == 0
"""


def test_a_counter_that_an_object_keeps_is_read_in_its_other_methods_too():
    lines = changed(FLAGGED)
    assert lines == [
        "-         if self.at % accum_steps == 0:",
        "+         if (self.at + 1) % accum_steps == 0:",
        "-         model.require_backward_grad_sync = self.at % accum_steps == 0",
        "+         model.require_backward_grad_sync = (self.at + 1) % accum_steps == 0",
    ]
