"""The examples of the rules' pages and of tests/cases, executed: the guard says what the linter says, where it does."""

from pathlib import Path

import pytest

from amplint.catalogue import RULES
from amplint.catalogue.examples import examples
from tests.runtime.live import expected, guarded, told

CASES = Path(__file__).parents[1] / "cases"
ALL = [(f"{name}-{number}", one) for name, rule in RULES.items() for number, one in enumerate(examples(rule.page), 1)]
ALL += [
    (f"{path.stem}:{one.row}", one)
    for path in sorted(CASES.glob("*.md"))
    for one in examples(path.read_text(encoding="utf-8"))
]
LIVE = [pytest.param(one, id=name) for name, one in ALL if one.live]


@pytest.mark.parametrize("example", LIVE)
def test_the_guard_finds_what_is_marked_and_nothing_else(example, tmp_path):
    program = example.program
    assert told(guarded(program.source, tmp_path), program.stage_rows) == expected(program)


def test_an_example_that_is_not_executed_says_why():
    assert [name for name, one in ALL if not one.live and not one.reason and "whole" not in one.words] == []


def test_most_examples_of_torch_alone_are_executed():
    """What frameworks do is run in tests/frameworks, where they are installed."""
    native = [one for _, one in ALL if one.live or not one.reason.startswith("needs ")]
    assert len(LIVE) > len(native) / 2
