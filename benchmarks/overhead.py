"""What the guard costs: microseconds per event, and per cent of a training step, beside torch's own anomaly detection.

    python benchmarks/overhead.py [--rounds 15] [--device cpu|cuda] [--size small|100m] [--json out.json]

Everything is measured in one run, in rounds: each round takes every variant once, in another order, and only ratios
within a round are compared, so that a machine that becomes slower does not speak for or against anybody.
`events` judges the order of calls and what can be had from the graph on the way; `probes` also samples the gradient
ledger in every window (`probe_every=1`). By default the first few windows are sampled, and then one in sixteen: that
variant is timed after the first few.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from dataclasses import dataclass
from statistics import median
from typing import Any

import torch
from torch import nn

from runtime_guard import guard

ACCUMULATION = 4
WARM = 4  # windows: a guard makes its acquaintances in the first, and samples the first four in any case
VARIANTS: dict[str, Callable[[], AbstractContextManager[Any]]] = {
    "off": contextlib.nullcontext,
    "events": lambda: guard(mode="record", probe_every=0),
    "as by default": lambda: guard(mode="record"),
    "probes": lambda: guard(mode="record", probe_every=1),
    "set_detect_anomaly": lambda: torch.autograd.set_detect_anomaly(True, check_nan=True),
}


@dataclass(frozen=True)
class Size:
    """A decoder-like transformer: width, layers, tokens per micro-batch."""

    width: int
    layers: int
    sequences: int
    length: int
    vocabulary: int


SIZES = {"small": Size(128, 2, 4, 64, 512), "100m": Size(768, 12, 8, 512, 20000)}


class Language(nn.Module):
    """A transformer that predicts the next token."""

    def __init__(self, size: Size) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(size.width, size.width // 32, 4 * size.width, batch_first=True, dropout=0.0)
        self.embedding = nn.Embedding(size.vocabulary, size.width)
        self.blocks = nn.TransformerEncoder(layer, size.layers, enable_nested_tensor=False)
        self.head = nn.Linear(size.width, size.vocabulary)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        """Logits of every position."""
        return self.head(self.blocks(self.embedding(tokens)))


class Training:
    """A right training step: scaled, accumulated, unscaled, clipped, stepped, scheduled."""

    def __init__(self, size: Size, device: str) -> None:
        torch.manual_seed(0)
        self.device = device
        self.model = Language(size).to(device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, fused=device == "cuda")
        self.scaler = torch.amp.GradScaler(device, init_scale=1024.0)
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, lambda update: 0.999**update)
        self.tokens = torch.randint(size.vocabulary, (size.sequences, size.length + 1), device=device)
        self.dtype = torch.float16 if device == "cuda" else torch.bfloat16

    def window(self) -> None:
        """One optimizer step of `ACCUMULATION` micro-steps."""
        for _ in range(ACCUMULATION):
            with torch.autocast(self.device, dtype=self.dtype, enabled=self.device == "cuda"):
                logits = self.model(self.tokens[:, :-1])
                loss = nn.functional.cross_entropy(logits.flatten(0, 1), self.tokens[:, 1:].flatten()) / ACCUMULATION
            self.scaler.scale(loss).backward()
        self.scaler.unscale_(self.optimizer)
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.scheduler.step()
        self.optimizer.zero_grad()


def seconds(action: Callable[[], object], device: str) -> float:
    """How long an action takes: on a device by the clock, waiting for it before and after; on the CPU in CPU time.

    One thread computes, so CPU time is what the clock would show on a machine that does nothing else.
    """
    if device == "cpu":
        start = time.process_time()
        action()
        return time.process_time() - start
    torch.cuda.synchronize()
    start = time.perf_counter()
    action()
    torch.cuda.synchronize()
    return time.perf_counter() - start


def steps(size: Size, device: str, rounds: int) -> dict[str, list[float]]:
    """Seconds per window of each variant, one for each round."""
    training = Training(size, device)
    for _ in range(3):
        training.window()
    taken: dict[str, list[float]] = {name: [] for name in VARIANTS}
    for _ in range(rounds):
        for name in random.sample(list(VARIANTS), len(VARIANTS)):
            with VARIANTS[name]():
                for _ in range(WARM):
                    training.window()
                taken[name].append(min(seconds(training.window, device) for _ in range(3)))
    return taken


def operations() -> Iterator[tuple[str, Callable[[], object]]]:
    """Each listened call on tensors so small that little but the call itself is timed."""
    model = nn.Linear(4, 5)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    scaler = torch.amp.GradScaler("cpu", init_scale=2.0)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 10)
    inputs, targets = torch.randn(3, 4), torch.tensor([0, 1, 2])

    def backward() -> None:
        scaler.scale(nn.functional.cross_entropy(model(inputs), targets) / ACCUMULATION).backward()

    def through_scaler() -> None:
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()

    backward()
    through_scaler()
    yield "forward, scale, backward", backward
    yield "clip_grad_norm_", lambda: nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    yield "unscale_, scaler.step, update", through_scaler
    yield "optimizer.step", lambda: optimizer.step()  # bound when it is called: the guard listens on classes
    yield "scheduler.step", lambda: scheduler.step()
    yield "zero_grad", lambda: optimizer.zero_grad()


def microseconds(rounds: int, repeats: int = 100) -> dict[str, dict[str, float]]:
    """Operation -> variant -> median microseconds of one call."""
    result: dict[str, dict[str, float]] = {}
    for operation, action in operations():
        taken: dict[str, list[float]] = {name: [] for name in ("off", "events", "probes")}
        for _ in range(rounds):
            for name in random.sample(list(taken), len(taken)):
                with VARIANTS[name]():
                    action()
                    taken[name].append(median(seconds(action, "cpu") for _ in range(repeats)))
        result[operation] = {name: min(times) * 1e6 for name, times in taken.items()}
    return result


def told(per_step: dict[str, list[float]], per_call: dict[str, dict[str, float]]) -> None:
    """Prints both tables."""
    off = per_step["off"]
    print(f"a step of {median(off) * 1e3:.1f} ms ({ACCUMULATION} micro-steps), {len(off)} rounds\n")
    print(f"| {'variant':<20} |  of a step |")
    print(f"|{'-' * 22}|-----------:|")
    for name, times in per_step.items():
        if name != "off":
            print(f"| {name:<20} | {cost(times, off):+8.2f} % |")
    print(f"\n| {'call':<30} | off, \u00b5s | events, \u00b5s | probes, \u00b5s |")
    print(f"|{'-' * 32}|--------:|-----------:|-----------:|")
    for call, times in per_call.items():
        added = [times[name] - times["off"] for name in ("events", "probes")]
        print(f"| {call:<30} | {times['off']:7.1f} | {added[0]:+10.1f} | {added[1]:+10.1f} |")
    events, probes = in_all(per_call, "events"), in_all(per_call, "probes")
    print(f"| {'a window of these calls':<30} |         | {events:+10.1f} | {probes:+10.1f} |")
    print(f"\nof a step of 50 ms: events {events / 500:.2f} %, probes {probes / 500:.2f} %")


def in_all(per_call: dict[str, dict[str, float]], variant: str) -> float:
    """Microseconds that a variant adds to a window: each call as often as a window makes it."""
    often = {"forward, scale, backward": ACCUMULATION, "optimizer.step": 0}  # the scaler's step holds the optimizer's
    return sum(often.get(call, 1) * (times[variant] - times["off"]) for call, times in per_call.items())


def cost(times: list[float], off: list[float]) -> float:
    """Per cent added to a step: the median over the rounds of the ratio within each."""
    return (median(one / other for one, other in zip(times, off, strict=True)) - 1) * 100


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=15)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    torch.set_num_threads(1 if options.device == "cpu" else torch.get_num_threads())
    per_step = steps(SIZES[options.size], options.device, options.rounds)
    per_call = microseconds(options.rounds)
    told(per_step, per_call)
    if options.json:
        summary = {name: cost(times, per_step["off"]) for name, times in per_step.items()}
        figures = {"torch": torch.__version__, "step": median(per_step["off"]), "per_cent": summary, "calls": per_call}
        with open(options.json, "w", encoding="utf-8") as file:
            json.dump(figures, file, indent=2)


if __name__ == "__main__":
    main()
