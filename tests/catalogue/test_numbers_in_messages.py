"""No number of the model that a program is played on stands in a message, be it one that another mistake hides.

What is told of every example is looked at where it is told.
"""

import pytest

from amplint.analysis import all_findings_of
from amplint.catalogue import RULES
from amplint.catalogue.examples import examples
from tests.catalogue.invented import invented, invented_in

BAD = [
    pytest.param(example, id=f"{rule.id}-{example.row}")
    for rule in RULES.values()
    for example in examples(rule.page)
    if example.bad and "live-only" not in example.words
]


@pytest.mark.parametrize("example", BAD)
def test_a_message_that_is_hidden_holds_no_number_that_nobody_has_written(example):
    assert invented_in(example, all_findings_of(example.source, "train.py")) == []


@pytest.mark.parametrize("said", ["the gradient is 0.333 times", "each of the 24 micro-batches", "the 3 accumulated"])
def test_a_number_of_the_model_would_be_seen(said):
    assert invented("loss = criterion(model(x), y) / args.accum  # 3 of 24, 0.333\nif i % (args.accum * 8) == 0:", said)


def test_a_number_of_the_source_is_none_of_the_model():
    assert not invented("for i in range(24): loss / 1e-8", "each of the 24, below 1e-08, is 1/65536 of it")
