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


NAMED = """\
def train(model, loader, criterion, optimizer, accum_steps, start):
    low = 0
    for i, (x, y) in enumerate(loader):
        due = i % accum_steps == 0
        BEFORE
        loss = criterion(model(x), y) / accum_steps
        loss.backward()
        if due:
            optimizer.step()
            optimizer.zero_grad()
            SET
        AFTER
    print(loss)
"""
MARKS = ("BEFORE", "SET", "AFTER")


def named(before: str = "pass", held: str = "pass", after: str = "pass") -> str:
    text = NAMED
    for mark, lines in zip(MARKS, (before, held, after), strict=True):
        margin = " " * (12 if mark == "SET" else 8)
        text = text.replace(f"{margin}{mark}", "\n".join(margin + line for line in lines.split("\n")))
    return text


IN_TIME = {
    "nothing else": named(),
    "what is logged": named("if due:\n    print(i, low)"),
    "a flag of DDP": named("model.require_backward_grad_sync = due"),
    "a region of DDP": named("if not due:\n    model.set_requires_gradient_sync(False)"),
    "a counter": named(after="if due:\n    low += 1"),
    "what is set before the loop": named(held="low = i", after="print(low)"),
    "what is given": named(held="start = x", after="print(start)"),
    "what is set in every turn": named(held="loss = loss.detach()", after="print(loss)"),
    "what the loop sets": named(held="x = y", after="print(x)"),
    "what the other branch sets too": named(after="if due:\n    end = x\nelse:\n    end = y\nprint(end)"),
    "what is read under the same gate": named(held="end = x", after="if due:\n    low = end"),
    "a label of that name": named(held="end = x", after="print(1, end='', sep=model.end)"),
    "another function's parameter": named(held="end = x", after="look = lambda end: i"),
    "what is set and not read": named(held="end = low, model.end = x, y", after="print(low)"),
}
TOO_LATE = {
    "what begins a window": named("if due:\n    start = x"),
    "what is set in it": named(held="end = x", after="print(end)"),
    "a part of what is set": named(held="low, end = x", after="print(end)"),
    "what one branch sets": named("if low:\n    end = x", held="end = y", after="print(end)"),
    "what is read under another gate": named(held="end = x", after="if not due:\n    low = end"),
    "what is set under the name": named(after="if due:\n    end = x\nprint(end)"),
    "what is read in the other branch": named(after="if due:\n    end = x\nelse:\n    print(end)"),
}


@pytest.mark.parametrize("name", IN_TIME)
def test_a_gate_under_a_name_moves_with_what_reads_the_name_in_time(name):
    due = "due = i % accum_steps == 0"
    assert changed(IN_TIME[name]) == [f"-         {due}", f"+         {due}".replace("i %", "(i + 1) %")]


@pytest.mark.parametrize("name", TOO_LATE)
@pytest.mark.parametrize("test", ["due", "i % accum_steps == 0"])
def test_a_gate_stays_where_something_would_be_read_before_it_is_set_or_begins_a_window(name, test):
    source = TOO_LATE[name]
    if test != "due":
        lines = [line for line in source.splitlines(keepends=True) if "due = " not in line]
        source = "".join(lines).replace("not due:", "i % accum_steps != 0:").replace("if due", f"if {test}")
    assert changed(source) == []


FAR = """\
class Trainer:
    def fit(self, model, loader, criterion, optimizer, accum_steps):
        for self.at, (x, y) in enumerate(loader):
            self.begin(accum_steps)
            loss = criterion(model(x), y) / accum_steps
            loss.backward()
            if self.at % accum_steps == 0:
                optimizer.step()
                optimizer.zero_grad()

    def begin(self, accum_steps):
        if self.at % accum_steps == 0:
            self.begun = self.at
"""


def test_a_gate_stays_where_another_function_does_something_by_it():
    assert changed(FAR) == []
