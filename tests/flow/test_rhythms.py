"""The advice for an update that comes between a backward and its step fits the rhythm in which the optimizers step."""

import pytest

from amplint.analysis import findings_of

HEAD = """\
import torch


def train(gen, critic, loader, accum_steps):
    first = torch.optim.Adam(gen.parameters())
    second = torch.optim.Adam(critic.parameters())
    scaler = torch.amp.GradScaler("cuda")
    assert len(loader) % accum_steps == 0
    for i, x in enumerate(loader, 1):
        with torch.autocast("cuda"):
            loss = gen(x).mean(){divided}
        scaler.scale(loss).backward()
"""
TWO_RHYTHMS = """\
        if i % accum_steps == 0:
            scaler.step(first)
            first.zero_grad()
        second.zero_grad()
        with torch.autocast("cuda"):
            loss = critic(x).mean()
        scaler.scale(loss).backward()
        scaler.step(second)
        scaler.update()
"""
ONE_RHYTHM = """\
        with torch.autocast("cuda"):
            loss = critic(x).mean()
        scaler.scale(loss).backward()
        scaler.step(first)
        scaler.update()
        scaler.step(second)
        scaler.update()
        first.zero_grad()
        second.zero_grad()
"""


@pytest.mark.parametrize(
    ("body", "divided", "advice"),
    [
        (TWO_RHYTHMS, " / accum_steps", "a scaler of its own"),
        (ONE_RHYTHM, "", "after the last `scaler.step()` of the iteration"),
    ],
)
def test_the_advice_fits_the_rhythm(body, divided, advice):
    told = findings_of(HEAD.format(divided=divided) + body, "example.py")
    assert [found.advice.endswith(advice) for found in told if found.code == "scaler-update-order"] == [True]
