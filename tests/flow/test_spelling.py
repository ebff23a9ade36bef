"""An expression as it is written, as far as names go."""

import pytest

from amplint.flow.spelling import spelled
from amplint.lower.statements import Statements
from amplint.source.parse import parse


def lowered(text):
    (statement,) = Statements(parse(f"value = {text}")).module()
    return statement.value


@pytest.mark.parametrize(
    "text",
    [
        "accum_steps",
        "self.args.accum_steps",
        "4",
        "'fp16'",
        "len(loader)",
        "loaders['train']",
        "len(loader) // self.accum_steps",
        "step == total - 1",
        "config.get('steps', 4)",
    ],
)
def test_an_expression_of_names_is_spelled_as_it_stands(text):
    assert spelled(lowered(text)) == text


def test_two_spellings_of_one_expression_are_one():
    assert spelled(lowered("( i+1 )%N")) == spelled(lowered("i + 1 % N")) == "i + 1 % N"


@pytest.mark.parametrize(
    ("text", "shown"), [("*a, b", "*a, b"), ("f'{a}'", "f'{a}'"), ("{1: 2}", "..."), ("[a]", "...")]
)
def test_what_is_more_than_names_is_its_text_or_left_out(text, shown):
    assert spelled(lowered(text)) == shown
