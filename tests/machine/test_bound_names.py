"""Whether a name is bound is known, and nothing that a run decides."""

import pytest

from amplint.analysis import read_program

TEXT = """\
def train(model, loader, optimizer, criterion):
    for x, y in loader:
        BEFORE
        if QUESTION:
            loss = kept
        else:
            loss = criterion(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
"""


@pytest.mark.parametrize("question", ['"kept" in locals()', '"kept" in vars() and kept is not None', '"kept" in dir()'])
@pytest.mark.parametrize(("before", "weight"), [("kept = criterion(model(x), y) / 4", "1/4"), ("pass", "1")])
def test_a_name_is_bound_or_is_not(question, before, weight):
    text = TEXT.replace("BEFORE", before).replace("QUESTION", question)
    played = read_program(text, "train.py", ()).played
    (run,) = played.traces(1)
    assert not any("kept" in choice for choice in run.choices)
    assert {str(event.weight) for event in run.events if event.weight is not None} == {weight}


@pytest.mark.parametrize("question", ["x in locals()", '"kept" in found()', '"kept" == locals()'])
def test_other_questions_are_asked(question):
    played = read_program(TEXT.replace("BEFORE", "kept = None").replace("QUESTION", question), "train.py", ()).played
    assert any(run.choices for run in played.traces(1))
