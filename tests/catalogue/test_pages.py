"""Every rule's page is complete, and its examples do under torch what the page says."""

import re
import warnings

import pytest

from amplint.catalogue import RULES
from amplint.catalogue.examples import examples

HEADING = re.compile(r"^## (.+)$", re.M)
FENCE = re.compile(r"^```python.*?^```$", re.M | re.S)
REQUIRED = ["What happens", "Why", "Example", "What to do", "Fix", "Source"]
FIX = re.compile(r"^## Fix\n\n(Safe|Unsafe|None)[:.] (?=.{20})", re.M)
RAISES = "torch raises: "
BLOCKS = [
    pytest.param(example, id=f"{name}-{number}-{'bad' if example.bad else 'good'}")
    for name, rule in RULES.items()
    for number, example in enumerate(examples(rule.page), 1)
]


def run(example):
    """The example's names after it has run. A warning of torch is no failure: some examples are there to cause one."""
    names = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        exec(compile(example.source, "example.py", "exec"), names)
    return names


def headings(page):
    """The page's headings in order, the one that has two forms in its short one and the optional one left out."""
    found = [heading.replace("Why it is easy to miss", "Why") for heading in HEADING.findall(FENCE.sub("", page))]
    return [heading for heading in found if heading != "Messages"]


@pytest.mark.parametrize("name", RULES)
def test_a_page_has_the_headings_of_all_pages(name):
    assert headings(RULES[name].page) == REQUIRED


@pytest.mark.parametrize("name", RULES)
def test_a_page_names_messages_before_it_says_what_to_do(name):
    found = HEADING.findall(RULES[name].page)
    assert "Messages" not in found or found.index("Messages") == found.index("What to do") - 1


@pytest.mark.parametrize("name", RULES)
def test_a_page_says_how_safe_its_fix_is_and_why(name):
    remedy = RULES[name].remedy
    found = FIX.search(RULES[name].page)
    assert found is not None
    assert found[1].lower() == (remedy.safety.value if remedy is not None else "none")


@pytest.mark.parametrize("name", RULES)
def test_a_page_begins_with_one_sentence(name):
    first, _, rest = RULES[name].page.partition("\n")
    assert first.endswith(".")
    assert rest.startswith("\n## ")


@pytest.mark.parametrize("name", RULES)
def test_a_bad_example_shows_the_mistake_of_its_page(name):
    shown = [example for example in examples(RULES[name].page) if example.bad]
    assert shown
    assert all(name in {rule for rule, _ in example.marked("expect")} for example in shown)


@pytest.mark.parametrize("name", RULES)
def test_a_good_example_has_no_marks(name):
    shown = [example for example in examples(RULES[name].page) if "good" in example.words]
    assert shown
    assert not any(example.marked("expect") | example.marked("missed") for example in shown)


@pytest.mark.parametrize("name", RULES)
def test_a_page_speaks_only_of_rules_that_exist(name):
    marks = [mark for example in examples(RULES[name].page) for mark in example.marked("expect")]
    assert {rule for rule, _ in marks} <= set(RULES)


@pytest.mark.parametrize("example", BLOCKS)
def test_a_block_is_either_bad_or_good(example):
    assert len(example.words & {"bad", "good"}) == 1


@pytest.mark.parametrize("example", BLOCKS)
def test_a_block_compiles(example):
    compile(example.source, "example.py", "exec")


@pytest.mark.parametrize("example", BLOCKS)
def test_a_block_that_is_not_run_says_why(example):
    assert example.live or example.reason


@pytest.mark.parametrize("example", [block for block in BLOCKS if block.values[0].live])
def test_a_block_runs_to_its_end(example):
    assert "optimizer" in run(example)


@pytest.mark.parametrize("example", [block for block in BLOCKS if block.values[0].reason.startswith(RAISES)])
def test_torch_raises_what_the_block_says(example):
    with pytest.raises(
        (AssertionError, RuntimeError, TypeError, ValueError), match=re.escape(example.reason.removeprefix(RAISES))
    ):
        run(example)
