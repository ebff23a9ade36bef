"""No number of the model that a program is played on stands in a message: none that nobody has written.

A number may come from the source, or be a constant that the rule itself is about (65504, the scale at the start).
"""

import re
from pathlib import Path

import pytest

from amplint.analysis import all_findings_of
from amplint.catalogue import RULES
from amplint.catalogue.examples import examples

CASES = Path(__file__).parents[1] / "cases"
NUMBER = re.compile(r"(?<![\w.+])\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?!\w|-[a-z])")
VERSION = re.compile(r"(?<=transformers )\d+\.\d+")
CONSTANTS = {65536.0, 100.0}
"""The scale that a scaler begins with (torch 2.13, `GradScaler.__init__`), and what losses ignore (`ignore_index`)."""


def numbers(text):
    return {float(number) for number in NUMBER.findall(text)}


def invented(source, said, template=""):
    """The numbers of a text that neither the source nor the rule's own words contain."""
    code = re.sub(r"#.*", "", source)
    said = VERSION.sub("", said)
    return numbers(said) - numbers(code) - numbers(template) - CONSTANTS - {1.0}


def told(example):
    """What the static half says of an example, with what a message was made from."""
    for found in all_findings_of(example.source, "train.py"):
        rule = RULES[found.code]
        remedy = rule.remedy.message if rule.remedy is not None else ""
        yield found, f"{rule.message} {rule.advice} {remedy}"


PAGES = [(path.stem, path.read_text(encoding="utf-8")) for path in sorted(CASES.glob("*.md"))]
PAGES += [(rule.id, rule.page) for rule in RULES.values()]


@pytest.mark.parametrize(("name", "page"), PAGES, ids=[name for name, _ in PAGES])
def test_a_message_holds_no_number_that_nobody_has_written(name, page):
    said = []
    for example in examples(page):
        if "live-only" in example.words or not example.bad:
            continue
        own = "\n".join(example.source.splitlines()[example.stage_rows :])
        literal = own + (" 4" if "accum_steps" in own else "")  # the stage sets it
        for found, template in told(example):
            extra = invented(literal, f"{found.message} {found.advice}", template)
            said += [(example.row, found.code, extra, found.message)] if extra else []
    assert said == []


@pytest.mark.parametrize("said", ["the gradient is 0.333 times", "each of the 24 micro-batches", "the 3 accumulated"])
def test_a_number_of_the_model_would_be_seen(said):
    assert invented("loss = criterion(model(x), y) / args.accum  # 3 of 24, 0.333\nif i % (args.accum * 8) == 0:", said)


def test_a_number_of_the_source_is_none_of_the_model():
    assert not invented("for i in range(24): loss / 1e-8", "each of the 24, below 1e-08, is 1/65536 of it")
