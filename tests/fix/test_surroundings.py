"""Whether something is mended, and how, where that depends on what stands around it."""

from __future__ import annotations

import pytest

from tests.fix.mended import mended

INSIDE = """\
import torch


def train(model, loader, criterion, optimizer, scaler, report):
    for step, (x, y) in enumerate(loader):
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(model(x), y)
            scaler.scale(loss).backward()
            if step % 10 == 0:
                if step:
                    print(loss.item())
                ANYTHING
            scaler.step(optimizer)
            scaler.update()
"""


@pytest.mark.parametrize(
    ("inner", "ends"),
    [("pass", True), ("for part in report:\n                    part(loss)", False)],
)
def test_a_region_ends_where_nothing_that_follows_needs_it_however_deep_that_stands(inner, ends):
    before, after, mends = mended(INSIDE.replace("ANYTHING", inner))
    assert ("backward-in-autocast" in mends) is ends
    assert ("\n        scaler.scale(loss)" in after.script.text) is ends
    assert "\n            scaler.scale(loss)" in before.script.text


TWINS = """\
import torch


def train(model, loader, criterion, optimizer, wrapper, settings, accum_steps):
    for i, (x, y) in enumerate(loader):
        loss = criterion(model(x), y)
        if settings.amp:
            CALL
        else:
            loss.backward()
            if (i + 1) % accum_steps == 0:
                optimizer.step()
                optimizer.zero_grad()
"""


@pytest.mark.parametrize(("call", "divided"), [("wrapper(loss, optimizer)", False), ("continue", True)])
def test_a_loss_is_not_divided_for_one_branch_where_the_other_is_not_understood(call, divided):
    _, after, done = mended(TWINS.replace("CALL", call))
    assert ("missing-loss-division" in done) is divided
    assert ("(loss / accum_steps)" in after.script.text) is divided


UNSCALED_EARLY = """\
import torch


def train(model, loader, criterion, optimizer, scaler, settings, accum_steps):
    for i, (x, y) in enumerate(loader):
        with torch.autocast("cuda", dtype=torch.float16, enabled=settings.amp):
            loss = criterion(model(x), y) / accum_steps
        if settings.amp:
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
        else:
            loss.backward()
        CLIP
        if (i + 1) % accum_steps == 0:
            if settings.amp:
                scaler.step(optimizer)
                scaler.update()
            else:
                optimizer.step()
            optimizer.zero_grad()
"""


CLIP = "torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)"
READ = "norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n        print(norm)"


@pytest.mark.parametrize(("clip", "moves"), [(CLIP, True), (READ, False)])
def test_no_error_that_was_hidden_is_left_in_the_open(clip, moves):
    before, after, done = mended(UNSCALED_EARLY.replace("CLIP", clip))
    assert ("repeated-unscale" in done) is moves
    had, has = ({one.code for one in document.findings} for document in (before, after))
    assert has <= had | {"dropped-tail-window"}


SET_LATER = """\
import torch


def train(model, loader, criterion, optimizer, scheduler, fine):
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        if fine:
            scheduler.step()
        BETWEEN
        optimizer.step()
"""


@pytest.mark.parametrize(
    ("between", "moves"),
    [("fine = loss < 1", False), ("_, fine = loss", False), ("kept = loss < 1", True), ("loss.fine = 1", True)],
)
def test_a_condition_goes_along_only_where_it_says_the_same(between, moves):
    before, after, _ = mended(SET_LATER.replace("BETWEEN", between))
    assert [finding.code for finding in before.findings] == ["scheduler-before-optimizer"]
    assert (after.script.text != before.script.text) is moves
