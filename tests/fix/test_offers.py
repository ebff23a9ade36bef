"""All that is offered as proved is made: by the fix of each finding, and by all of them together."""

from __future__ import annotations

from collections import Counter
from itertools import chain

import pytest

from amplint.catalogue import RULES
from amplint.findings import Finding
from amplint.fix.documents import edited_text
from amplint.fix.offers import with_fixes
from tests.fix.mended import changed, mended, reader

SHARED = """\
import torch


def train(encoder, decoder, loader, criterion):
    optimizer = torch.optim.AdamW([*encoder.parameters(), *decoder.parameters()], lr=1e-3)
    scaler = torch.amp.GradScaler("cuda")
    for x, y in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(decoder(encoder(x)), y)
        scaler.scale(loss).backward()
        torch.nn.utils.clip_grad_norm_(encoder.parameters(), 1.0)
        torch.nn.utils.clip_grad_norm_(decoder.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
"""
THREE = SHARED.replace(
    "        scaler.step", "        torch.nn.utils.clip_grad_value_(encoder.parameters(), 1.0)\n        scaler.step"
)
APART = """\
import torch


def train(encoder, decoder, loader, criterion):
    optimizer = torch.optim.AdamW(encoder.parameters(), lr=1e-3)
    other = torch.optim.AdamW(decoder.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler("cuda")
    for x, y in loader:
        optimizer.zero_grad()
        other.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(decoder(encoder(x)), y)
        scaler.scale(loss).backward()
        torch.nn.utils.clip_grad_norm_(encoder.parameters(), 1.0)
        torch.nn.utils.clip_grad_norm_(decoder.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.step(other)
        scaler.update()
"""
PER_MICRO_STEP = """\
import torch


def train(encoder, decoder, loader, criterion, accum_steps):
    optimizer = torch.optim.AdamW([*encoder.parameters(), *decoder.parameters()], lr=1e-3)
    scaler = torch.amp.GradScaler("cuda")
    for i, (x, y) in enumerate(loader):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(decoder(encoder(x)), y) / accum_steps
        scaler.scale(loss).backward()
        torch.nn.utils.clip_grad_norm_(encoder.parameters(), 1.0)
        torch.nn.utils.clip_grad_norm_(decoder.parameters(), 1.0)
        if (i + 1) % accum_steps == 0:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
"""
PROGRAMS = {"one optimizer": SHARED, "three clips": THREE, "two optimizers": APART, "a window": PER_MICRO_STEP}


def offered(source: str, safety: tuple[str, ...]) -> list[Finding]:
    """The findings of a program that are told with a fix of some safety."""
    reading = reader()
    document = reading.read(source.encode(), "example.py")
    told = with_fixes(document, lambda script, found: list(found), reading, RULES)
    return [one for one in told if one.fix is not None and one.fix.applicability in safety]


@pytest.mark.parametrize("safety", [("safe",), ("safe", "unsafe")])
@pytest.mark.parametrize("name", PROGRAMS)
def test_as_many_are_mended_as_are_offered(name, safety):
    found = offered(PROGRAMS[name], safety)
    _, after, done = mended(PROGRAMS[name], safety)
    assert found or safety == ("safe",)
    assert Counter(one.code for one in found) <= Counter(done)
    assert not {one.code for one in found} & {one.code for one in after.findings}


@pytest.mark.parametrize("name", ["one optimizer", "three clips", "two optimizers"])
def test_the_fixes_that_are_offered_come_to_the_same_together(name):
    found = offered(PROGRAMS[name], ("safe",))
    fixes = dict.fromkeys(one.fix.edits for one in found if one.fix is not None)
    _, after, _ = mended(PROGRAMS[name], ("safe",))
    assert edited_text(PROGRAMS[name], list(chain.from_iterable(fixes))) == after.script.text


def test_one_unscale_serves_every_clip():
    assert changed(THREE, ("safe",)) == ["+         scaler.unscale_(optimizer)"]
    assert len(offered(THREE, ("safe",))) == 3


def test_clips_in_a_row_go_to_the_boundary_together():
    assert changed(PER_MICRO_STEP) == [
        "-         torch.nn.utils.clip_grad_norm_(encoder.parameters(), 1.0)",
        "-         torch.nn.utils.clip_grad_norm_(decoder.parameters(), 1.0)",
        "+             scaler.unscale_(optimizer)",
        "+             torch.nn.utils.clip_grad_norm_(encoder.parameters(), 1.0)",
        "+             torch.nn.utils.clip_grad_norm_(decoder.parameters(), 1.0)",
    ]


TOGETHER = """\
import torch


def train(model, loader, criterion, optimizer, scaler, scheduler, accum_steps):
    for i, (x, y) in enumerate(loader):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(model(x), y)
            scaler.scale(loss).backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        if i % accum_steps == 0:
            scaler.step(optimizer)
            scheduler.step()
"""


def test_several_mistakes_in_one_loop_are_offered_as_they_can_be_made():
    found = offered(TOGETHER, ("safe", "unsafe"))
    _, after, done = mended(TOGETHER)
    assert found
    assert not {one.code for one in found} & {one.code for one in after.findings}
    assert {one.code for one in found} <= set(done)
