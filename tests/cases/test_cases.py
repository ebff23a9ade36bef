"""The cases of this folder, read by the static half: each mark is found, and nothing else."""

from pathlib import Path

import pytest

from amplint.catalogue.examples import examples
from tests.catalogue.invented import invented_in
from tests.catalogue.told import expected, findings, in_words, missed

CASES = [
    pytest.param(example, id=f"{path.stem}:{example.row}")
    for path in sorted(Path(__file__).parent.glob("*.md"))
    for example in examples(path.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize("example", CASES)
def test_what_is_marked_is_found_and_nothing_else(example):
    said = findings(example)
    found = in_words(example, said)
    assert not set(found) & set(missed(example)), "a known gap is found: its mark must go"
    assert found == expected(example)
    assert invented_in(example, said) == [], "a number of the model stands in a message"
