"""The examples of every rule's page, read by the static half: each mark is found, and nothing else."""

import pytest

from amplint.catalogue import RULES
from amplint.catalogue.examples import examples
from tests.catalogue.invented import invented_in
from tests.catalogue.told import expected, findings, in_words, missed

EXAMPLES = [
    pytest.param(example, id=f"{name}-{number}-{'bad' if example.bad else 'good'}")
    for name, rule in RULES.items()
    for number, example in enumerate(examples(rule.page), 1)
]


@pytest.mark.parametrize("example", EXAMPLES)
def test_what_is_marked_is_found_and_nothing_else(example):
    said = findings(example)
    found = in_words(example, said)
    assert not set(found) & set(missed(example)), "a known gap is found: its mark must go"
    assert found == expected(example)
    assert invented_in(example, said) == [], "a number of the model stands in a message"
