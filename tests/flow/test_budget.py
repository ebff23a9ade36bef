"""What is left out of a file that takes too long is told, and nothing else changes."""

import pytest

import amplint.budget
from amplint.analysis import findings_of

LOOP = """
def train_{0}(model, criterion, loader, optimizer, accum):
    for i, (x, y) in enumerate(loader):
        criterion(model(x), y).backward()
        if (i + 1) % accum == 0 or i + 1 == len(loader):
            optimizer.step()
            optimizer.zero_grad()

"""
MANY = "".join(LOOP.format(number) for number in range(6))


def told(text):
    return [(one.code, one.place.row) for one in findings_of(text, "train.py")]


def test_a_file_within_its_budget_is_told_whole():
    assert {code for code, _ in told(MANY)} == {"missing-loss-division"}
    assert len(told(MANY)) == 6


@pytest.mark.parametrize("spent", [1, 100])
def test_what_was_left_out_is_told_where_it_begins(monkeypatch, spent):
    monkeypatch.setattr(amplint.budget, "OF_A_FILE", spent)
    found = told(MANY)
    assert [code for code, _ in found].count("budget-exceeded") == 1
    row = next(row for code, row in found if code == "budget-exceeded")
    assert all(other < row for code, other in found if code != "budget-exceeded")
    assert told(MANY) == found  # what was played before counts all the same


def test_how_many_functions_were_left_out_is_told(monkeypatch):
    monkeypatch.setattr(amplint.budget, "OF_A_FILE", 1)
    message = next(one.message for one in findings_of(MANY, "train.py") if one.code == "budget-exceeded")
    assert "and 5 other functions" in message or "and 4 other functions" in message
