"""Training loops on a device that is no CPU: what the guard says of each, and what it made the host wait for.

`python loops.py`, with `AWAY_BUILD`: one line of JSON, by loop.
"""

from __future__ import annotations

import contextlib
import json
import sys
from collections.abc import Callable, Iterator

import away
import torch
from torch import nn
from torch.nn import functional as F

from runtime_guard import guard

MICRO_STEPS = 3
WINDOWS = 280


def model() -> nn.Module:
    """Logits of every token."""
    torch.manual_seed(0)
    return nn.Sequential(nn.Embedding(16, 8), nn.Linear(8, 16)).to("away")


def batches(ignored: bool = False) -> Iterator[list[tuple[torch.Tensor, torch.Tensor]]]:
    """The micro-batches of each window. `ignored`: some targets are, in each as many as it happens."""
    draw = torch.Generator().manual_seed(0)
    for _ in range(WINDOWS):
        window = []
        for _ in range(MICRO_STEPS):
            tokens = torch.randint(16, (4, 9), generator=draw)
            targets = tokens[:, 1:].clone()
            if ignored:
                targets[:, int(torch.randint(2, 8, (1,), generator=draw)) :] = -100
            window.append((tokens[:, :-1].to("away"), targets.to("away")))
        yield window


def plain(late: int = WINDOWS) -> nn.Module:
    """A mean divided by the window; from some window on, it is not."""
    net = model()
    optimizer = torch.optim.AdamW(net.parameters(), foreach=False)
    for number, window in enumerate(batches()):
        for x, y in window:
            divisor = MICRO_STEPS if number < late else 1
            loss = F.cross_entropy(net(x).flatten(0, 1), y.flatten()) / divisor
            loss.backward()
        optimizer.step()
        optimizer.zero_grad()
    return net


def scaled(unscaled: bool = True) -> nn.Module:
    """A loss scale, and a clip, before which it is taken out."""
    net = model()
    optimizer = torch.optim.AdamW(net.parameters(), foreach=False)
    scaler = torch.amp.GradScaler("away", init_scale=1024.0)
    for window in batches():
        for x, y in window:
            scaler.scale(F.cross_entropy(net(x).flatten(0, 1), y.flatten()) / MICRO_STEPS).backward()
        if unscaled:
            scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(net.parameters(), 1.0, foreach=False)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
    return net


def fused() -> nn.Module:
    """An optimizer that decides on the device whether it steps: twice it does not."""
    net = model()
    optimizer = torch.optim.AdamW(net.parameters(), fused=True)
    scaler = torch.amp.GradScaler("away", init_scale=1024.0)
    for number, window in enumerate(batches()):
        for x, y in window:
            logits = net(x).flatten(0, 1) * (float("inf") if number in (150, 270) else 1.0)
            scaler.scale(F.cross_entropy(logits, y.flatten()) / MICRO_STEPS).backward()
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
    return net


def tokens(again: bool = False) -> nn.Module:
    """A sum divided by the valid tokens of the window, which only the device knows; and once more by its length."""
    net = model()
    optimizer = torch.optim.AdamW(net.parameters(), foreach=False)
    for window in batches(ignored=True):
        valid = torch.stack([(y != -100).sum() for _, y in window]).sum()
        for x, y in window:
            loss = F.cross_entropy(net(x).flatten(0, 1), y.flatten(), reduction="sum") / valid
            (loss / MICRO_STEPS if again else loss).backward()
        optimizer.step()
        optimizer.zero_grad()
    return net


def masked() -> nn.Module:
    """Losses that a mask lets through, divided by their number, which the host knows."""
    net = model()
    optimizer = torch.optim.AdamW(net.parameters(), foreach=False)
    for window in batches(ignored=True):
        masks = [(y != -100).float() for _, y in window]
        valid = sum(mask.sum().item() for mask in masks)
        for (x, y), mask in zip(window, masks, strict=True):
            losses = F.cross_entropy(net(x).flatten(0, 1), y.clamp_min(0).flatten(), reduction="none")
            ((losses * mask.flatten()).sum() / valid).backward()
        optimizer.step()
        optimizer.zero_grad()
    return net


LOOPS: dict[str, Callable[[], nn.Module]] = {
    "plain": plain,
    "plain, the division is lost late": lambda: plain(200),
    "scaled": scaled,
    "scaled, clipped too early": lambda: scaled(unscaled=False),
    "fused": fused,
    "tokens": tokens,
    "tokens, divided again": lambda: tokens(again=True),
    "masked": masked,
}


def tried(loop: Callable[[], nn.Module]) -> dict[str, object]:
    """What is said of a loop, how many of its windows were read, and what it cost the device."""
    found = []
    for watch in (contextlib.nullcontext, lambda: guard(mode="record")):
        before = away.reads()
        with watch() as listening:
            net = loop()
        read = away.reads() - before
        found.append((read, [value.cpu().tolist() for value in net.state_dict().values()]))
    report = listening.report()
    return {
        "same": found[0][1] == found[1][1],
        "added reads": found[1][0] - found[0][0],
        "rules": sorted(one["code"] for one in report["violations"]),
        "windows": report["windows"]["micro_steps"],
        "off": report["off"],
        "skipped": [one["skipped"] for one in report["scalers"]],
        "read": report["optimizers"][0]["weight_sum"]["graph"]["count"],
    }


if __name__ == "__main__":
    torch.set_num_threads(1)
    sys.stdout.write(json.dumps({name: tried(loop) for name, loop in LOOPS.items()}))
