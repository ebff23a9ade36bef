"""What the scout leaves of a text: rows and columns stay true."""

import ast
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amplint.analysis import findings_of
from amplint.source.scout import scout

ROOT = Path(__file__).parents[2]
FILES = sorted([*ROOT.glob("amplint/*/*.py"), *ROOT.glob("tests/*/*.py")])
STEP = "loss = criterion(model(x), y)\nloss.backward()\noptimizer.step()\n"
PLAIN = '''\
def read(path):
    """Rows of a table."""
    with open(path) as file:
        rows = file.readlines()
    return rows
'''


def differences(text):
    """The rows, from 1, in which what is left is not what was there."""
    left = scout(text)
    before, after = text.split("\n"), left.split("\n")
    assert len(before) == len(after)
    return [
        row for row, (old, new) in enumerate(zip(before, after, strict=True), 1) if old.rstrip("\r") != new.rstrip("\r")
    ]


@pytest.mark.parametrize("text", ["", "x = 1\n", PLAIN, "optimizer.step()\n", "# loss.backward()\n", "f('backward')\n"])
def test_where_nothing_is_back_propagated_nothing_is_left(text):
    assert scout(text) is None


@pytest.mark.parametrize(
    "call",
    [
        "loss.backward()",
        "GradScaler()",
        "amp.GradScaler()",
        "torch.autocast()",
        "torch.amp.autocast(dtype=torch.half)",
        "torch.cuda.amp.autocast()",
        "from torch.cuda import amp",
    ],
)
def test_a_call_that_may_be_part_of_a_training_step_is_enough(call):
    assert scout(PLAIN + call) is not None


@pytest.mark.parametrize("call", ["torch.autocast('cuda')", "autocast(device_type='cuda')", "autocast"])
def test_an_autocast_with_nothing_to_look_at_is_not(call):
    assert scout(PLAIN + call) is None


def test_a_function_without_a_word_of_training_is_blanked_out():
    left = scout(PLAIN + STEP)
    assert left == "def read(*_, **__): pass\n\n\n\n\n" + STEP


def test_a_short_function_and_one_that_speaks_of_training_are_kept():
    text = (
        "def short(a):\n    return a\n\n\ndef clip(model):\n    a = 1\n    b = 2\n    nn.utils.clip_grad_norm_(model)\n"
    )
    assert scout(text + STEP) == text + STEP


def test_one_that_goes_on_with_that_of_a_base_class_leaves_nothing():
    method = "    def read(self):\n        a = 1\n        b = super().read()\n        return a + b\n"
    assert scout(f"class Data(Base):\n{method}" + STEP) == "class Data(Base):\n    pass\n\n\n\n" + STEP


def test_decorators_and_methods_go_with_their_function():
    method = "    @cached\n    def read(self):\n        a = 1\n        b = 2\n        return a + b\n"
    text = f"class Data:\n{method}\n    size = 3\n"
    assert scout(text + STEP) == "class Data:\n    pass\n\n\n\n\n\n    size = 3\n" + STEP


def test_a_text_that_this_interpreter_cannot_read_is_kept_whole():
    text = "print 'loss'\n" + PLAIN + STEP
    assert scout(text) == text


def test_line_ends_of_other_systems_keep_their_rows():
    text = (PLAIN + STEP).replace("\n", "\r\n")
    assert differences(text) == [1, 2, 3, 4, 5]


@pytest.mark.parametrize("odd", ["\x0c\n", "note = 'a\u2028b'\n", "note = 'a\x85b'\n"])
def test_a_character_that_is_a_line_end_to_some_keeps_the_rows(odd):
    text = odd + "def short(a): return a\n" + PLAIN + STEP
    assert differences(text) == [3, 4, 5, 6, 7]
    assert findings_of(text, "train.py") is not None


@settings(max_examples=40, deadline=None, database=None)
@given(st.sampled_from(FILES), st.integers(0, 10_000), st.booleans())
def test_rows_stay_true_and_what_is_kept_is_as_it_was(path, where, returns):
    """Any file of the project, with a training step among its top-level statements."""
    text = path.read_text(encoding="utf-8")
    starts = [node.lineno - 1 for node in ast.parse(text).body if not getattr(node, "decorator_list", None)]
    lines = text.split("\n")
    at = starts[where % len(starts)]
    text = "\n".join([*lines[:at], *STEP.splitlines(), *lines[at:]])
    left = scout(text)
    assert left is not None
    changed = differences(text)
    blanked = [(row, left.split("\n")[row - 1].strip()) for row in changed]
    assert all(new == "" or new.endswith("pass") for _, new in blanked)
    ast.parse(left)
    for row, new in blanked:  # what is blank belongs to a function in whose first row something stands
        assert new or row - 1 in changed or not text.split("\n")[row - 2].strip()
