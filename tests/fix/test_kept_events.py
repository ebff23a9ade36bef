"""No fix takes away what happened, under whatever settings: a call that is needed stays where it is."""

from __future__ import annotations

import pytest

from tests.fix.mended import changed, mended

SKIPPED = """\
import torch


def train(model, loader, criterion, optimizer, accum_steps):
    scaler = torch.amp.GradScaler("cuda")
    for i, (x, y) in enumerate(loader):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(model(x), y) / accum_steps
        scaler.scale(loss).backward()
        if (i + 1) % accum_steps == 0:
            scaler.unscale_(optimizer)
            if torch.isfinite(loss):
                scaler.step(optimizer)
                scaler.update()
            optimizer.zero_grad()
"""
PASSED_OVER = """\
import torch


def train(model, loader, criterion, optimizer):
    scaler = torch.amp.GradScaler("cuda")
    for x, y in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(model(x), y)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        if not torch.isfinite(loss):
            continue
        scaler.step(optimizer)
        scaler.update()
"""
CLIPPED = PASSED_OVER.replace(
    "        if not torch.isfinite(loss):\n",
    "        norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n        if not torch.isfinite(norm):\n",
)
IN_A_METHOD = """\
import torch


class Trainer:
    def __init__(self, model, optimizer):
        self.model, self.optimizer = model, optimizer
        self.scaler = torch.amp.GradScaler("cuda")

    def update(self, loss):
        self.scaler.unscale_(self.optimizer)
        if not torch.isinf(loss):
            self.scaler.step(self.optimizer)
            self.scaler.update()
        self.optimizer.zero_grad()

    def fit(self, loader, criterion):
        for x, y in loader:
            with torch.autocast("cuda", dtype=torch.float16):
                loss = criterion(self.model(x), y)
            self.scaler.scale(loss).backward()
            self.update(loss)
"""


@pytest.mark.parametrize("source", [SKIPPED, PASSED_OVER, CLIPPED, IN_A_METHOD])
def test_the_only_unscale_of_a_window_stays(source):
    before, after, done = mended(source)
    assert "repeated-unscale" in {finding.code for finding in before.findings}
    assert "repeated-unscale" not in done
    assert after.script.text.count("unscale_(") == 1


TWICE = """\
import torch


def train(model, loader, criterion, optimizer, accum_steps):
    scaler = torch.amp.GradScaler("cuda")
    for i, (x, y) in enumerate(loader):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(model(x), y) / accum_steps
        scaler.scale(loss).backward()
        if (i + 1) % accum_steps == 0:
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            AGAIN
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
"""


def test_an_unscale_that_another_one_has_made_superfluous_goes():
    again = "            scaler.unscale_(optimizer)"
    assert changed(TWICE.replace("            AGAIN", again)) == [f"- {again}"]


UNDER_A_SETTING = """\
import torch


def train(model, loader, criterion, optimizer, settings):
    scaler = torch.amp.GradScaler("cuda")
    for x, y in loader:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(model(x), y)
        scaler.scale(loss).backward()
        if settings.looks:
            scaler.unscale_(optimizer)
            settings.look(model)
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
"""


def test_an_unscale_that_is_the_only_one_under_another_setting_stays():
    before, after, _ = mended(UNDER_A_SETTING)
    assert "repeated-unscale" in {finding.code for finding in before.findings}
    assert after.script.text.count("unscale_(") == 2
