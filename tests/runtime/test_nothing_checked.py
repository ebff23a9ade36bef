"""A run that the guard could not check is never taken for a right one."""

import json
import os

import pytest

from tests.runtime.forked import run_module
from tests.runtime.test_pytest_plugin import PLUGIN

BEGIN = """\
import torch
from torch import nn
torch.manual_seed(0)
model = nn.Linear(4, 3)
def loss():
    return nn.functional.cross_entropy(model(torch.randn(4, 4)), torch.randint(3, (4,)))
"""
TRAINED = f"""{BEGIN}
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(6):
    loss().backward()
    optimizer.step()
    optimizer.zero_grad()
"""
ONLY_ASKED = f"{BEGIN}\nprint(float(loss()))\n"
BY_HAND = f"""{BEGIN}
optimizer = torch.optim.AdamW(model.parameters(), lr=0.1)
for _ in range(6):
    for parameter, given in zip(model.parameters(), torch.autograd.grad(loss(), list(model.parameters()))):
        parameter.grad = given
    optimizer.step()
    optimizer.zero_grad()
"""
FLAT_MASTERS = f"""{BEGIN}
flat = torch.cat([one.detach().reshape(-1) for one in model.parameters()]).requires_grad_()
optimizer = torch.optim.AdamW([flat], lr=0.1)
for _ in range({{steps}}):
    loss().backward()
    flat.grad = torch.cat([one.grad.reshape(-1) for one in model.parameters()])
    optimizer.step()
    optimizer.zero_grad()
    model.zero_grad()
    nn.utils.vector_to_parameters(flat.detach(), model.parameters())
"""
WITHOUT_GRADIENTS = f"""{BEGIN}
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(3):
    optimizer.step()
"""
MOSTLY_FOLLOWED = f"""{BEGIN}
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for parameter in model.parameters():
    parameter.grad = torch.zeros_like(parameter)
optimizer.step()
optimizer.zero_grad()
for _ in range(6):
    loss().backward()
    optimizer.step()
    optimizer.zero_grad()
"""
ODD = f"""{TRAINED}
class Odd(torch.optim.Optimizer):
    param_groups = property(lambda self: [dict(params=5)], lambda self, groups: None)
    def add_param_group(self, group):
        pass
Odd([nn.Parameter(torch.ones(1))], {{}})
"""
UNFOLLOWED = {
    "gradients by autograd.grad": (BY_HAND, 6),
    "flat masters": (FLAT_MASTERS.format(steps=6), 6),
    "flat masters, for long": (FLAT_MASTERS.format(steps=1500), 1500),
}


def run(folder, source, *options):
    (folder / "train.py").write_text(source, encoding="utf-8")
    done = run_module("runtime_guard", [*options, "--report", "report.json", "train.py"], folder)
    return done, json.loads((folder / "report.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("source", [TRAINED, MOSTLY_FOLLOWED], ids=["right", "one step before the loop"])
def test_a_right_run_passes(tmp_path, source):
    done, report = run(tmp_path, source, "--mode", "raise")
    assert (done.status, report["unchecked"], report["off"], report["not_covered"]) == (0, None, [], [])


@pytest.mark.parametrize(("mode", "status"), [("raise", 1), ("warn", 0), ("record", 0)])
def test_a_run_without_a_step_fails_where_an_error_would(tmp_path, mode, status):
    done, report = run(tmp_path, ONLY_ASKED, "--mode", mode)
    assert done.status == status
    assert "nothing is confirmed: no optimizer step was seen" in done.stderr
    assert done.stderr.endswith("runtime_guard: nothing was checked: no optimizer step was seen\n") is (status == 1)
    assert report["unchecked"] == "nothing was checked: no optimizer step was seen"


def test_steps_without_any_gradient_check_nothing(tmp_path):
    done, report = run(tmp_path, WITHOUT_GRADIENTS, "--mode", "raise")
    assert done.status == 1
    assert report["unchecked"] == "nothing was checked: no gradient was there at the 3 optimizer steps seen"
    assert report["unfollowed"] == []


@pytest.mark.parametrize("name", UNFOLLOWED)
def test_steps_on_gradients_of_unknown_origin_are_told_and_check_nothing(tmp_path, name):
    source, steps = UNFOLLOWED[name]
    done, report = run(tmp_path, source, "--mode", "raise")
    assert done.status == 1
    told = f"{steps} steps of AdamW#1, on gradients that no backward pass has left there"
    assert "runtime_guard: what was stepped could not be checked: " + told in done.stderr
    assert [one for one in report["not_covered"] if one.startswith(told)] == report["unfollowed"] != []
    assert report["steps"] == steps
    assert f"before none of the {steps} optimizer steps was a backward pass seen" in done.stderr


def test_what_is_off_is_said_first_and_fails_the_run(tmp_path):
    done, report = run(tmp_path, ODD, "--mode", "raise")
    assert done.status == 1
    [off] = report["off"]
    assert off.startswith("Optimizer failed in the guard and is switched off: TypeError")
    _, _, summary = done.stderr.partition("runtime_guard\n")
    assert summary.startswith(f"off: {off}\n")
    assert f"runtime_guard: a part of the guard is off: {off}\n" in done.stderr
    assert run(tmp_path, ODD)[0].status == 0


TESTS = """
import runpy
def test_trains():
    runpy.run_path({script!r})
def test_does_not():
    assert True
"""


def pytest_run(folder, tests):
    (folder / "test_it.py").write_text(tests, encoding="utf-8")
    alone = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_ADDOPTS": ""}
    options = ["-p", PLUGIN, "-p", "no:cacheprovider", "--rootdir", str(folder), "-c", os.devnull]
    return run_module("pytest", [*options, "--runtime-guard=raise"], folder, alone)


@pytest.mark.parametrize(
    ("source", "status", "told"),
    [
        (TRAINED, 0, "2 passed"),
        (ONLY_ASKED, 1, "nothing was checked: no test has stepped an optimizer"),
        (BY_HAND, 1, "NothingChecked: what was stepped could not be checked: 6 steps of AdamW#1"),
        (ODD, 1, "NothingChecked: a part of the guard is off: Optimizer failed"),
    ],
    ids=["right", "no step", "by hand", "off"],
)
def test_a_suite_of_tests_that_nothing_was_checked_of_fails(tmp_path, source, status, told):
    (tmp_path / "train.py").write_text(source, encoding="utf-8")
    done = pytest_run(tmp_path, TESTS.format(script=str(tmp_path / "train.py")))
    assert done.status == status, done.stdout
    assert told in done.stdout


def test_a_test_that_asks_for_a_guard_must_step(tmp_path):
    done = pytest_run(tmp_path, "def test_it(runtime_guard):\n    pass\n")
    assert done.status == 1
    assert "NothingChecked: nothing was checked: no optimizer step was seen" in done.stdout


def test_the_version_is_told(tmp_path):
    done = run_module("runtime_guard", ["--version"], tmp_path)
    assert done.status == 0
    assert done.stdout.startswith("runtime_guard ")
    assert "(torch 2." in done.stdout
