"""A text speaks of the user's own optimizer, scaler and counter, not of the catalogue's."""

from pathlib import Path

import pytest

from amplint.analysis import findings_of
from amplint.cli import main
from amplint.findings import in_own_names

CLIPPED = """
import torch
class Trainer:
    def __init__(self, net, opt):
        self.net, self.opt = net, opt
        self.amp = torch.amp.GradScaler("cuda")
    def step(self, x, y):
        self.opt.zero_grad()
        with torch.autocast("cuda"):
            loss = torch.nn.functional.mse_loss(self.net(x), y)
        self.amp.scale(loss).backward()
        torch.nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)
        self.amp.step(self.opt)
        self.amp.update()
"""
TWO = """
import torch
def train(gen, disc, loader, opts, grad_scaler):
    for x in loader:
        opts["d"].zero_grad()
        grad_scaler.scale(disc(gen(x).detach()).mean()).backward()
        torch.nn.utils.clip_grad_norm_(disc.parameters(), 1.0)
        grad_scaler.step(opts["d"])
        grad_scaler.update()
"""
SPLIT = """
import torch
def train(net, criterion, loader, sgd, gs):
    for x, y in loader:
        sgd.zero_grad()
        gs.scale(criterion(net(x), y)).backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        gs.step(
            sgd,
        )
        gs.update()
"""
EARLY = """
def train(model, criterion, loader, optimizer, every):
    for batch_index, (x, y) in enumerate(loader):
        (criterion(model(x), y) / every).backward()
        if batch_index % every == 0:
            optimizer.step()
            optimizer.zero_grad()
"""
ACCELERATED = """
from accelerate import Accelerator
class Trainer:
    def __init__(self, net, opt, loader, every):
        self.acc = Accelerator(gradient_accumulation_steps=every, mixed_precision="fp16")
        self.net, self.opt, self.loader = self.acc.prepare(net, opt, loader)
    def fit(self, criterion):
        for x, y in self.loader:
            with self.acc.accumulate(self.net):
                self.acc.backward(criterion(self.net(x), y))
                self.acc.clip_grad_norm_(self.net.parameters(), 1.0)
                self.opt.step()
                self.opt.zero_grad()
"""


def advice(source, rule):
    return [one.advice for one in findings_of(source, "train.py") if one.code == rule]


@pytest.mark.parametrize(
    ("source", "call"),
    [(CLIPPED, "self.amp.unscale_(self.opt)"), (TWO, "grad_scaler.unscale_(opts['d'])"), (SPLIT, "gs.unscale_(sgd)")],
)
def test_the_scaler_and_the_optimizer_are_the_users(source, call):
    assert advice(source, "clip-before-unscale") == [f"call `{call}` before clipping"]


def test_the_object_of_a_framework_is_the_users():
    one_call = "let `self.acc.clip_grad_norm_(...)` unscale, in one call per window for all parameters"
    assert advice(ACCELERATED, "repeated-unscale") == [f"{one_call}, under `if self.acc.sync_gradients`"]


def test_a_step_that_a_framework_takes_is_called_on_no_scaler():
    found = [one.message for one in findings_of(ACCELERATED, "train.py") if one.code == "repeated-unscale"]
    assert "`self.opt.update()`" not in found[0]


def test_so_they_are_in_what_a_fix_says(tmp_path, capsys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("train.py").write_text(CLIPPED, encoding="utf-8")
    main(["train.py", "--output-format=json", "--isolated", "--no-cache"])
    assert "call `self.amp.unscale_(self.opt)` before the clip" in capsys.readouterr().out


def test_the_counter_of_a_gate_is_the_users():
    assert advice(EARLY, "early-first-window") == ["test `(batch_index + 1) % every == 0`"]


def test_only_code_is_renamed_and_only_whole_names():
    text = "the optimizer: `optimizer.step()`, `my.optimizer`, `optimizers`"
    assert in_own_names(text, [("optimizer", "opt")]) == "the optimizer: `opt.step()`, `my.optimizer`, `optimizers`"


def test_without_names_a_text_stays_as_it_is():
    assert in_own_names("`optimizer.step()`", ()) == "`optimizer.step()`"
