"""Numbers that a loop makes of themselves: what is said of them does not grow with its turns."""

from __future__ import annotations

import pytest

from amplint.analysis import findings_of
from amplint.state.naming import MOST_TEXT, bounded

resource = pytest.importorskip("resource")  # not on every system

LOOP = """
import torch


def fit(model, loader, criterion, a, b):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        {turn}
        optimizer.zero_grad()
        loss = criterion(model(x), y) * a
        loss.backward()
        optimizer.step()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
"""


@pytest.mark.parametrize("turn", ["a = " + " @ ".join(["(a - a)"] * 8), "a = " + " * ".join(["a[a]"] * 8)])
def test_a_number_that_is_made_of_itself_takes_no_more_than_another(turn):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    found = findings_of(LOOP.format(turn=turn), "train.py")
    assert [one.code for one in found] == ["clip-after-step"]
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100_000  # KiB


def test_short_texts_stay_and_long_ones_are_told_apart():
    assert bounded("x * 2") == "x * 2"
    long = "x + " * MOST_TEXT
    assert len(bounded(long)) <= MOST_TEXT
    assert bounded(long) == bounded(long) != bounded(f"{long}y")
