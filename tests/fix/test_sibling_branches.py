"""A call that serves several branches is moved into each of them, or behind them all, or not at all."""

from __future__ import annotations

import pytest

from amplint.catalogue import RULES
from amplint.fix.offers import with_fixes
from tests.fix.mended import changed, mended, reader

AMP = """\
import torch


def train(model, loader, criterion, settings, epochs, accum_steps):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs * len(loader) // accum_steps)
    scaler = torch.amp.GradScaler("cuda")
    for epoch in range(epochs):
        for i, (x, y) in enumerate(loader):
            if settings.amp:
                with torch.autocast("cuda", dtype=torch.float16):
                    loss = criterion(model(x), y) / accum_steps
                scaler.scale(loss).backward()
                if (i + 1) % accum_steps == 0:
                    scaler.step(optimizer)
                    scaler.update()
                    optimizer.zero_grad()
            else:
                loss = criterion(model(x), y) / accum_steps
                loss.backward()
                if (i + 1) % accum_steps == 0:
                    optimizer.step()
                    optimizer.zero_grad()
            scheduler.step()
"""
WITHIN = """\
import torch


def train(model, loader, criterion, settings, epochs, accum_steps):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=epochs * len(loader) // accum_steps)
    scaler = torch.amp.GradScaler("cuda")
    for epoch in range(epochs):
        for i, (x, y) in enumerate(loader):
            with torch.autocast("cuda", dtype=torch.float16, enabled=settings.amp):
                loss = criterion(model(x), y) / accum_steps
            if settings.amp:
                scaler.scale(loss).backward()
            else:
                loss.backward()
            if (i + 1) % accum_steps == 0:
                if settings.amp:
                    scaler.step(optimizer)
                    scaler.update()
                else:
                    optimizer.step()
                optimizer.zero_grad()
            scheduler.step()
"""
THREE = """\
import torch


def train(model, loader, criterion, settings, epochs, accum_steps):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    warmup = torch.optim.lr_scheduler.OneCycleLR(optimizer, 0.1, total_steps=epochs * len(loader) // accum_steps)
    for epoch in range(epochs):
        for i, (x, y) in enumerate(loader):
            loss = criterion(model(x), y) / accum_steps
            if settings.kind == "sum":
                (loss + model.penalty()).backward()
                if (i + 1) % accum_steps == 0:
                    optimizer.step()
                    optimizer.zero_grad()
            elif settings.kind == "half":
                (loss * 0.5).backward()
                if (i + 1) % accum_steps == 0:
                    optimizer.step()
                    optimizer.zero_grad()
            else:
                loss.backward()
                if (i + 1) % accum_steps == 0:
                    optimizer.step()
                    optimizer.zero_grad()
            warmup.step()
"""
STEP = "                    scheduler.step()"
SHARES = {
    "the gates are in the branches": (AMP, [f"+ {STEP}", f"+ {STEP}", "-             scheduler.step()"]),
    "the branches are in the gate": (WITHIN, ["+                 scheduler.step()", "-             scheduler.step()"]),
    "there are three branches": (THREE, [*["+                     warmup.step()"] * 3, "-             warmup.step()"]),
    "the scheduler stands above them": (
        AMP.replace("            scheduler.step()\n", "").replace(
            "            if settings.amp:\n", "            scheduler.step()\n            if settings.amp:\n"
        ),
        ["-             scheduler.step()", f"+ {STEP}", f"+ {STEP}"],
    ),
}


@pytest.mark.parametrize("name", SHARES)
def test_every_branch_gets_its_share(name):
    source, expected = SHARES[name]
    assert changed(source) == expected


ELSEWHERE = """\
import torch


class Trainer:
    def __init__(self, model, settings, total):
        self.model, self.settings = model, settings
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        self.scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, T_max=total // settings.accum_steps)
        self.scaler = torch.amp.GradScaler("cuda")

    def plain(self, loss, last):
        loss.backward()
        if last:
            self.optimizer.step()
            self.optimizer.zero_grad()

    def train(self, loader, criterion):
        for i, (x, y) in enumerate(loader):
            with torch.autocast("cuda", dtype=torch.float16, enabled=self.settings.amp):
                loss = criterion(self.model(x), y) / self.settings.accum_steps
            last = (i + 1) % self.settings.accum_steps == 0
            if self.settings.amp:
                self.scaler.scale(loss).backward()
                if last:
                    self.scaler.step(self.optimizer)
                    self.scaler.update()
                    self.optimizer.zero_grad()
            else:
                self.plain(loss, last)
            self.scheduler.step()
"""


def test_nothing_moves_where_one_of_the_branches_steps_in_another_function():
    before, after, _ = mended(ELSEWHERE)
    assert "scheduler-per-micro-step" in {finding.code for finding in before.findings}
    assert after is before


ZEROED = (
    AMP.replace("            scheduler.step()\n", "")
    .replace("                    optimizer.zero_grad()\n", "")
    .replace("            if settings.amp:\n", "            optimizer.zero_grad()\n            if settings.amp:\n")
)


def test_gradients_are_zeroed_after_the_step_of_every_branch():
    zero = "+                     optimizer.zero_grad()"
    lines = [line for line in changed(ZEROED) if "scheduler" not in line]
    assert lines == ["-             optimizer.zero_grad()", zero, zero]


AS_SHIPPED = """\
import torch


class Config:
    fp16: bool = True
    accum_steps: int = 4


def train(model, loader, config):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler("cuda") if config.fp16 else None
    for i, (x, y) in enumerate(loader):
        loss = torch.nn.functional.cross_entropy(model(x), y)
        if scaler and config.fp16:
            scaler.scale(loss).backward()
            if (i + 1) % config.accum_steps == 0:
                scaler.step(optimizer)
                scaler.update()
                optimizer.zero_grad()
        else:
            loss.backward()
            if (i + 1) % config.accum_steps == 0:
                optimizer.step()
                optimizer.zero_grad()


train(torch.nn.Linear(3, 2), torch.utils.data.DataLoader(range(90)), Config())
"""


def test_a_branch_that_no_setting_of_the_file_takes_is_not_left_undivided():
    before, after, _ = mended(AS_SHIPPED)
    assert "missing-loss-division" in {finding.code for finding in before.findings}
    assert after is before


EARLY = """\
import torch


def train(model, loader, criterion, optimizer, limit, scaler=None):
    for x, y in loader:
        loss = criterion(model(x), y)
        optimizer.zero_grad()
        if limit > 0:
            torch.nn.utils.clip_grad_norm_(model.parameters(), limit)
        if scaler is not None:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        else:
            loss.backward()
            optimizer.step()
"""


def test_a_clip_is_not_put_before_the_branches_that_make_what_it_clips():
    reading = reader()
    told = with_fixes(reading.read(EARLY.encode(), "example.py"), lambda script, found: list(found), reading, RULES)
    assert [(one.code, one.fix) for one in told] == [("clip-before-backward", None)]
    assert changed(EARLY) == []
