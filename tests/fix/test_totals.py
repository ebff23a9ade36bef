"""A total is freed of all graphs that it is given, in whatever branch, or of none."""

from __future__ import annotations

import pytest

from tests.fix.mended import changed, mended

TRAINING = """\
def train(model, loader, criterion, optimizer, kind, log):
    total, losses = 0, []
    for i, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        if FIRST:
            total = total + loss
        elif SECOND:
            total = total + 2 * loss
        else:
            total += loss
        OTHER
    return total / len(loader), losses
"""
TESTS = {
    "a setting": ("kind == 1", "kind == 2"),
    "the micro-step": ("i % 3 == 0", "i % 3 == 1"),
    "the batch": ("len(x) == 1", "y.sum() == 3"),
}
DETACHED = ["total + loss.detach()", "total + 2 * loss.detach()", "total += loss.detach()"]


def program(first: str, second: str, other: str = "pass") -> str:
    return TRAINING.replace("FIRST", first).replace("SECOND", second).replace("OTHER", other)


@pytest.mark.parametrize("tests", TESTS.values(), ids=TESTS)
def test_every_branch_adds_without_the_graph(tests):
    _, after, _ = mended(program(*tests))
    assert [one for one in DETACHED if one in after.script.text] == DETACHED


@pytest.mark.parametrize("other", ["total = total + loss.item()", "total += 1.0", "total = total + len(x)"])
def test_what_is_added_without_a_graph_stays(other):
    _, after, _ = mended(program("kind == 1", "kind == 2", other))
    assert [one for one in DETACHED if one in after.script.text] == DETACHED
    assert f"        {other}\n" in after.script.text


def test_two_totals_are_freed_both():
    _, after, _ = mended(program("kind == 1", "kind == 2", "losses.append(loss)"))
    assert after.script.text.count(".detach()") == 4


def test_nothing_is_offered_where_one_branch_may_add_a_number():
    source = program("kind == 1", "kind == 2").replace("total + 2 * loss", "total + log.other_loss")
    assert changed(source) == []


def test_an_object_that_adds_its_losses_is_left_alone():
    source = "def train(model, loader, optimizer, meter):\n    for x in loader:\n        loss = model(x).mean()\n"
    assert changed(f"{source}        loss.backward()\n        optimizer.step()\n        meter.add(loss)\n") == [
        "+         optimizer.zero_grad()"
    ]


ONE_NAME = """\
def train(model, loader, optimizer):
    total = 0
    for batch in loader:
        optimizer.zero_grad()
        if len(batch) == 2:
            loss = model(batch)[0].mean()
            total = total + loss
        elif len(batch) == 3:
            loss = model(batch)[1].mean()
            total = total + loss
        else:
            loss = model(batch).mean()
            total = total + loss
        loss.backward()
        optimizer.step()
    return total
"""


def test_what_goes_back_under_one_name_is_detached_under_it():
    _, after, _ = mended(ONE_NAME)
    assert after.script.text.count("loss.detach()") == 3
