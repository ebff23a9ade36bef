"""Every case and example with a literal window, repeated with one that is too long to be played: the same is found.

The literal is replaced wherever it stands, by 64 or by 256, and the loader of the stage by one of which the length is
not known: a window of 64 over eight batches would be another program.
"""

import ast
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from amplint.catalogue import RULES
from amplint.catalogue.examples import STAGE, Example, examples
from tests.catalogue.told import told

LENGTHS = (64, 256)
_LOADER = next(line for line in STAGE.splitlines() if line.startswith("loader = "))
_CONFIGURED = frozenset({"gradient_accumulation_steps", "accumulate_grad_batches"})
_CASES = Path(__file__).parent.parent / "cases"

OF_ANOTHER_LENGTH = {
    "tails:402": "the loop ends after as many batches as two windows of four have",
    "mean-of-token-means:1": "the list of batches is as long as one window of four",
    "windows:1051": "the literal says how often gradients are erased, and the window is handed in",
}
"""Programs in which another number says how long the epoch is, so that a longer window is another program."""


def _named() -> Iterator[tuple[str, Example]]:
    for path in sorted(_CASES.glob("*.md")):
        yield from ((f"{path.stem}:{found.row}", found) for found in examples(path.read_text(encoding="utf-8")))
    for name, rule in RULES.items():
        yield from ((f"{name}:{number}", found) for number, found in enumerate(examples(rule.page), 1))


def _windows(tree: ast.AST) -> Iterator[int]:
    """The literals that a program takes remainders by, or gives a framework as its window."""
    for node in ast.walk(tree):
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod):
            yield from _literal(node.right)
        elif isinstance(node, ast.keyword) and node.arg in _CONFIGURED:
            yield from _literal(node.value)


def _literal(node: ast.AST) -> list[int]:
    known = isinstance(node, ast.Constant) and type(node.value) is int and 1 < node.value <= 16
    return [node.value] if known else []


def lengthened(source: str, length: int) -> str | None:
    """A program with another window; None where it has none that is a literal, or several."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return None
    found = set(_windows(tree)) | ({4} if "accum_steps = 4" in source else set())
    if len(found) != 1:
        return None
    window = found.pop()
    lines = source.encode().splitlines(keepends=True)
    for node, value in sorted(_replaced(tree, window, length), key=lambda pair: _at(pair[0]), reverse=True):
        line = lines[node.lineno - 1]
        lines[node.lineno - 1] = line[: node.col_offset] + str(value).encode() + line[node.end_col_offset :]
    return b"".join(lines).decode()


def _at(node: ast.Constant) -> tuple[int, int]:
    return node.lineno, node.col_offset


def _replaced(tree: ast.AST, window: int, length: int) -> Iterator[tuple[ast.Constant, int]]:
    """The window's literals, and the last place in it where a remainder is compared with that."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Constant) and type(node.value) is int and node.value == window:
            yield node, length
        if isinstance(node, ast.Compare) and isinstance(node.left, ast.BinOp) and isinstance(node.left.op, ast.Mod):
            places = (one for one in node.comparators if isinstance(one, ast.Constant))
            yield from ((one, length - 1) for one in places if one.value == window - 1 > 0)


def _unbounded(example: Example) -> Example:
    return replace(example, source=example.source.replace(_LOADER, "from data import loader"))


LONG = [
    pytest.param(name, found, id=name)
    for name, found in ((name, _unbounded(example)) for name, example in _named())
    if lengthened(found.source, LENGTHS[0]) is not None
]


@pytest.mark.parametrize(("name", "example"), LONG)
def test_a_longer_window_changes_nothing_that_is_found(name, example):
    before, length = told(example), LENGTHS[example.row % len(LENGTHS)]
    after = told(replace(example, source=lengthened(example.source, length)))
    assert (after != before) is (name in OF_ANOTHER_LENGTH), f"{length}: {before} became {after}"


def test_enough_programs_are_repeated():
    assert len(LONG) > 700


def test_a_window_that_is_not_found_is_noticed():
    program = (
        "for i, x in enumerate(loader):\n    model(x).mean().backward()\n    if (i + 1) % 4 == 3:\n        step()\n"
    )
    assert lengthened(program, 64) == program.replace("4 == 3", "64 == 63")
