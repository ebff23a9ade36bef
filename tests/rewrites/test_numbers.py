"""A rewrite keeps the meaning of a program: what has run leaves the same numbers in its models, to the last bit."""

import pytest
import torch

from amplint.catalogue.examples import examples
from tests.rewrites.measure import ROOT, part_of
from tests.rewrites.running import numbers, same
from tests.rewrites.table import REWRITES, rewritten
from tests.rewrites.writing import read

SHARE = 0.003
PAGES = sorted((ROOT / "tests" / "cases").glob("*.md"))


def programs(page):
    return [one for one in examples(page.read_text(encoding="utf-8")) if one.live]


def chosen(example):
    """The rewrites that a program is tried with, and what becomes of it."""
    for name in REWRITES:
        if part_of(example.source, (name,)) <= SHARE:
            made = rewritten(read(example.source), (name,))
            if made is not None:
                yield name, made


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_a_rewritten_program_leaves_the_same_numbers(page):
    torch.set_num_threads(1)
    different = []
    for example in programs(page):
        made = list(chosen(example))
        before = numbers(read(example.source)) if made else []
        different += [(example.row, name) for name, one in made if not same(before, numbers(one))]
    assert different == []


def test_another_number_is_seen():
    text = programs(PAGES[-1])[0].source
    assert not same(numbers(read(text)), numbers(read(text.replace("lr=0.1", "lr=0.2"))))


def test_another_end_is_seen():
    assert not same(numbers(read("import torch\ntorch.nn.Linear(2, 2)")), numbers(read("raise ValueError")))
    assert same(numbers(read("raise ValueError")), numbers(read("raise ValueError")))
