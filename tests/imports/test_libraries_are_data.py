"""What a library does is told in the dialects: the machine names none. The check is shown to be able to fail."""

from pathlib import Path

import pytest

from amplint.dialects.public import PRIMITIVES as SAID
from amplint.machine.primitives import PRIMITIVES
from tests.imports.naming import libraries, named

ROOT = Path(__file__).parents[2]
ROOMS = ("machine", "domains", "state", "lower")


def of(root: Path, text: str) -> list[str]:
    """What is found in a room of one module."""
    (root / "room").mkdir()
    (root / "room" / "calls.py").write_text(text)
    return named(root, "room", libraries())


@pytest.mark.parametrize("room", ROOMS)
def test_no_module_of_the_machine_names_a_library(room):
    assert named(ROOT, f"amplint/{room}", libraries()) == []


def test_the_packages_of_the_dialects_are_the_libraries():
    assert {"torch", "accelerate", "deepspeed", "lightning", "numpy", "transformers"} <= libraries()
    assert libraries().isdisjoint({"math", "itertools", "contextlib"})


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("SAFE = ('torch.cuda.',)\n", "room.calls:1 says 'torch.cuda.'"),
        ("\ndef is_torch_clip(call): ...\n", "room.calls:2 says 'is_torch_clip'"),
        ("from amplint.dialects import accelerate\n", "room.calls:1 says 'accelerate'"),
        ("class DeepspeedEngine: ...\n", "room.calls:1 says 'DeepspeedEngine'"),
        ("made = run.of_torch\n", "room.calls:1 says 'of_torch'"),
    ],
)
def test_a_library_that_is_named_in_code_is_found(tmp_path, text, said):
    assert said in of(tmp_path, text)


def test_a_docstring_may_cite_a_library(tmp_path):
    assert of(tmp_path, '"""As torch 2.13 does."""\nLIMIT = 3\n"""As many as torch has."""  # torch 2.13\n') == []


def test_every_primitive_that_a_dialect_names_is_one_of_the_machine():
    assert set(SAID.values()) <= set(PRIMITIVES)
