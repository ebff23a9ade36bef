"""The pytest plugin, in a pytest of its own."""

from __future__ import annotations

import importlib
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.imports.arrows import loaded_by
from tests.runtime.forked import run_module

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
PLUGIN = "runtime_guard.pytest_plugin"
pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the children are forked")

TRAINING = """
import torch
from torch import nn

def train(unscale):
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=64.0)
    for _ in range(3):
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            loss = nn.functional.cross_entropy(model(torch.randn(4, 4)), torch.randint(2, (4,)))
        scaler.scale(loss).backward()
        if unscale:
            scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
"""
TESTS = """
from training import train

def test_right():
    train(unscale=True)

def test_wrong():
    train(unscale=False)
"""


def pytest_run(folder, *arguments, tests=TESTS, environment=None):
    """A run of pytest in `folder` with this plugin and no other."""
    (folder / "training.py").write_text(TRAINING)
    (folder / "test_it.py").write_text(tests)
    alone = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": "", **(environment or {})}
    everywhere = ["-p", PLUGIN, "-p", "no:cacheprovider", "--rootdir", str(folder), "-c", os.devnull]
    return run_module("pytest", [*everywhere, *arguments], folder, alone)


def test_without_the_option_nothing_is_guarded(tmp_path):
    done = pytest_run(tmp_path)
    assert done.status == 0, done.stdout
    assert "clip-before-unscale" not in done.stdout


def test_in_mode_raise_a_violation_fails_the_test_that_ran_into_it(tmp_path):
    done = pytest_run(tmp_path, "--runtime-guard=raise")
    assert done.status == 1
    assert "1 failed, 1 passed" in done.stdout
    assert "FAILED test_it.py::test_wrong" in done.stdout
    assert "clip-before-unscale" in done.stdout


def test_the_failure_shows_both_places(tmp_path):
    done = pytest_run(tmp_path, "--runtime-guard=raise")
    assert "training.py:16" in done.stdout  # the clip
    assert "training.py:13" in done.stdout  # the backward that gave the gradients their scale


def test_in_mode_warn_the_test_passes_and_pytest_shows_the_warning(tmp_path):
    done = pytest_run(tmp_path, "--runtime-guard")
    assert done.status == 0, done.stdout
    assert "GuardWarning: [clip-before-unscale]" in done.stdout


def test_in_mode_record_the_summary_names_the_violations_of_each_test(tmp_path):
    done = pytest_run(tmp_path, "--runtime-guard=record")
    assert done.status == 0, done.stdout
    _, summary = done.stdout.split("= runtime_guard =")
    assert "test_it.py::test_wrong" in summary
    assert "[clip-before-unscale]" in summary
    assert "test_right" not in summary


def test_the_fixture_guards_one_test_and_raises(tmp_path):
    tests = TESTS.replace("test_wrong()", "test_wrong(runtime_guard)")
    done = pytest_run(tmp_path, tests=tests)
    assert "1 failed, 1 passed" in done.stdout
    assert "ProtocolViolation" in done.stdout


def test_the_fixture_takes_its_mode_from_the_environment(tmp_path):
    tests = """
from training import train

def test_it(runtime_guard):
    train(unscale=False)
    assert [one.code for one in runtime_guard.violations] == ["clip-before-unscale"]
"""
    done = pytest_run(tmp_path, tests=tests, environment={"RUNTIME_GUARD": "record"})
    assert done.status == 0, done.stdout


def test_the_environment_has_the_last_word(tmp_path):
    tests = TESTS.replace("test_wrong()", "test_wrong(runtime_guard)")
    done = pytest_run(tmp_path, "--runtime-guard=record", tests=tests, environment={"RUNTIME_GUARD": "raise"})
    assert "1 failed, 1 passed" in done.stdout


def test_a_guard_inside_a_guarded_test_is_no_obstacle(tmp_path):
    tests = """
from runtime_guard import guard
from training import train

def test_it():
    with guard(mode="record") as inner:
        train(unscale=False)
    assert [one.code for one in inner.violations] == ["clip-before-unscale"]
"""
    done = pytest_run(tmp_path, "--runtime-guard=record", tests=tests)
    assert done.status == 0, done.stdout
    assert done.stdout.count("[clip-before-unscale]") == 1  # the outer guard's


def test_a_test_that_fails_by_itself_keeps_its_failure(tmp_path):
    tests = TESTS + "    raise KeyError('its own')\n"
    done = pytest_run(tmp_path, "--runtime-guard=record", tests=tests)
    assert done.status == 1
    assert "KeyError: 'its own'" in done.stdout
    assert "[clip-before-unscale]" in done.stdout


def test_an_unknown_mode_is_a_usage_error(tmp_path):
    done = pytest_run(tmp_path, "--runtime-guard=scream")
    assert done.status == 4
    assert "invalid choice: 'scream'" in done.stderr


def test_loading_the_plugin_imports_neither_torch_nor_the_catalogue():
    """It is loaded by every pytest in the environment, also where coverage has not begun yet."""
    loaded = loaded_by(f"import {PLUGIN}", ROOT)
    assert not {name for name in loaded if name.split(".")[0] in {"torch", "amplint", "libcst", "numpy"}}
    assert {name for name in loaded if name.split(".")[0] == "runtime_guard"} == {"runtime_guard", PLUGIN}


def test_in_an_environment_without_torch_it_says_so_and_goes_on(tmp_path):
    (tmp_path / "sitecustomize.py").write_text(
        "import importlib.util\nknown = importlib.util.find_spec\n"
        "importlib.util.find_spec = lambda name, package=None: None if name == 'torch' else known(name, package)\n"
    )
    (tmp_path / "test_it.py").write_text("def test_a(): pass\ndef test_b(runtime_guard): pass\n")
    command = [sys.executable, "-m", "pytest", "-p", PLUGIN, "--runtime-guard=raise", "-c", os.devnull, str(tmp_path)]
    environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTHONPATH": f"{tmp_path}{os.pathsep}{ROOT}"}
    done = subprocess.run(command, capture_output=True, text=True, env=environment, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "runtime_guard: torch is not installed, nothing is guarded" in done.stdout
    assert "1 passed, 1 skipped" in done.stdout


def test_the_entry_point_names_the_plugin():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert project["entry-points"]["pytest11"] == {"runtime-guard": PLUGIN}
    assert importlib.import_module(PLUGIN).pytest_addoption
