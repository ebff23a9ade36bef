"""What the guard costs: per cent of a training step, and microseconds per call, beside torch's own anomaly detection.

    python benchmarks/overhead.py [--rounds 3] [--device cpu|cuda] [--size small|100m] [--json out.json]

Two shapes of a step are measured, each of about 50 ms on a CPU: a *plain* one, with one micro-step for each update, and
a *window of four* micro-steps. Everything is measured in one run, in rounds: each round takes every variant once, in
another order, next to steps without a guard, and only differences within such a pair are compared, so that a machine
that becomes slower does not speak for or against anybody. Each variant has one guard for the whole run, which listens
in its own turns only. A turn is `TURN` steps, after `SETTLING` that are not timed where a guard listens: in a loop that
has been steady for long it looks at a window now and then, and only compares the order of the calls of the others. All
steps of a turn come from one line, as in a training loop, and are timed together: what a guard puts off, and the
windows that it looks at, are in them.

Beside these differences, which scatter by per cents of a step, stands the time that is spent *inside* of the guard,
from the moment at which it hears a call to that at which it lets it go on, in steps of the same length: `TURN` steps in
a row, after `SETTLING` in which a guard makes its acquaintances and the loop becomes steady. What a guard makes slower
by using the processor's caches is in the differences alone. The mean is what counts: it has the windows that are looked
at, as often as they come.

`events` judges the order of calls; `as by default` also measures the weights of losses, and samples the gradient ledger
in one window of sixteen; `probes` samples it as often as it can be (`probe_every=1`). Once a loop is steady the ledger
samples one window in 256.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import random
import time
from collections import defaultdict
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from statistics import median

import torch
from torch import nn

from runtime_guard import guard, hooks, lane
from runtime_guard.trampolines import passed_over

SHAPES = {"a plain step": 1, "a window of four": 4}
LONG = 0.05  # seconds that a step is to take on a CPU
TURN, SETTLING, FEW = 256, 200, 8
WARM = 96  # steps: the precision of the first 64 passes is read from their graphs
PROBES = {"events": 0, "as by default": 16, "probes": 1}
ANOMALY = "set_detect_anomaly"


@dataclass(frozen=True)
class Size:
    """A decoder-like transformer: width, layers, tokens per micro-batch."""

    width: int
    layers: int
    sequences: int
    length: int
    vocabulary: int


SIZES = {"small": Size(128, 2, 4, 64, 512), "100m": Size(768, 12, 8, 512, 20000)}
TINY = Size(32, 1, 1, 4, 16)


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


def _regular(logits: torch.Tensor, targets: torch.Tensor, window: int) -> torch.Tensor:
    """A cross entropy, divided by the window."""
    return nn.functional.cross_entropy(logits, targets) / window


def _own_criterion(logits: torch.Tensor, targets: torch.Tensor, window: int) -> torch.Tensor:
    """A criterion written out: the mean of what the targets' scores lack, with their spread."""
    scores = logits.log_softmax(-1)
    return (-scores.gather(1, targets[:, None]).squeeze(1)).mean() / window


def _padded(targets: torch.Tensor) -> torch.Tensor:
    """Targets of which some, at the end and never as many as before, are not counted."""
    padded = targets.clone()
    padded[-random.randrange(1, len(targets) // 2) :] = -100
    return padded


def _sums(logits: torch.Tensor, targets: torch.Tensor, window: int) -> torch.Tensor:
    """A sum over the tokens that count, divided by a number of tokens of the window."""
    padded = _padded(targets)
    return nn.functional.cross_entropy(logits, padded, reduction="sum") / (window * len(targets))


def _varying(logits: torch.Tensor, targets: torch.Tensor, window: int) -> torch.Tensor:
    """A mean over the tokens that count, weighed by how many they are."""
    padded = _padded(targets)
    share = float((padded != -100).sum()) / (window * len(targets))
    return nn.functional.cross_entropy(logits, padded) * share


def _three_terms(logits: torch.Tensor, targets: torch.Tensor, window: int) -> torch.Tensor:
    """A cross entropy, a penalty on the scores, and one on their spread."""
    loss = nn.functional.cross_entropy(logits, targets)
    return (loss + 1e-4 * logits.logsumexp(-1).pow(2).mean() + 1e-3 * logits.pow(2).mean()) / window


LOOPS: dict[str, Callable[[torch.Tensor, torch.Tensor, int], torch.Tensor]] = {
    "regular": _regular,
    "own criterion": _own_criterion,
    "sums over tokens": _sums,
    "varying tokens": _varying,
    "three terms": _three_terms,
}


class Training:
    """A right training step: scaled, accumulated, unscaled, clipped, stepped, scheduled."""

    def __init__(self, size: Size, device: str, micro_steps: int = 1, loop: str = "regular") -> None:
        torch.manual_seed(0)
        self.device, self.micro_steps, self.loss = device, micro_steps, LOOPS[loop]
        self.model = Language(size).to(device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=1e-4, fused=device == "cuda")
        self.scaler = torch.amp.GradScaler(device, init_scale=1024.0)
        self.scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, lambda update: 0.999**update)
        self.tokens = torch.randint(size.vocabulary, (size.sequences, size.length + 1), device=device)
        self.dtype = torch.float16 if device == "cuda" else torch.bfloat16

    def window(self, timed: Callable[[str], contextlib.AbstractContextManager[object]] | None = None) -> None:
        """One optimizer step."""
        with_time = timed or _untimed
        for _ in range(self.micro_steps):
            with torch.autocast(self.device, dtype=self.dtype, enabled=self.device == "cuda"):
                logits = self.model(self.tokens[:, :-1])
                loss = self.loss(logits.flatten(0, 1), self.tokens[:, 1:].flatten(), self.micro_steps)
            with with_time("scale, backward"):
                self.scaler.scale(loss).backward()
        with with_time("unscale_"):
            self.scaler.unscale_(self.optimizer)
        with with_time("clip_grad_norm_"):
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        with with_time("scaler.step"):
            self.scaler.step(self.optimizer)
        with with_time("scaler.update"):
            self.scaler.update()
        with with_time("scheduler.step"):
            self.scheduler.step()
        with with_time("zero_grad"):
            self.optimizer.zero_grad()


def _untimed(call: str) -> contextlib.AbstractContextManager[object]:
    return contextlib.nullcontext()


class Turns:
    """The variants, each of which listens in its own turns only."""

    def __init__(self, names: list[str]) -> None:
        self._guards = {name: guard(mode="record", probe_every=PROBES[name]) for name in names if name in PROBES}

    @contextlib.contextmanager
    def of(self, name: str) -> Iterator[None]:
        """The turn of a variant; nobody's, for a name that is none."""
        listening = self._guards[name]._listening if name in self._guards else None
        if listening is not None:
            listening.begin()
        try:
            with torch.autograd.set_detect_anomaly(name == ANOMALY, check_nan=True):
                yield
        finally:
            if listening is not None:
                listening.end()


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


def fitted(size: Size, device: str, micro_steps: int) -> Size:
    """The size with as many sequences in a micro-batch as make a step on a CPU take about as long as is wanted."""
    if device != "cpu":
        return size
    training = Training(size, device, micro_steps)
    training.window()
    taken = min(seconds(training.window, device) for _ in range(5))
    return replace(size, sequences=max(1, round(size.sequences * LONG / taken)))


def steps(size: Size, device: str, micro_steps: int, rounds: int) -> dict[str, list[tuple[float, float]]]:
    """Seconds of a step of each variant, and of a step without a guard beside it, one pair for each round."""
    training = Training(fitted(size, device, micro_steps), device, micro_steps)
    names = [*PROBES, ANOMALY]
    turns = Turns(names)
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in names}
    for _ in range(rounds):
        for name in random.sample(names, len(names)):
            pair = [_turn(turns, each, training, device) for each in random.sample(["off", name], 2)]
            found = dict(pair)
            taken[name].append((found[name], found["off"]))
    return taken


def _turn(turns: Turns, name: str, training: Training, device: str) -> tuple[str, float]:
    settling, timed = SETTLING if name in PROBES else FEW, FEW if name == ANOMALY else TURN
    with turns.of(name):
        taken = [seconds(training.window, device) for _ in range(settling + timed)][settling:]
        return name, sum(taken) / len(taken)


def inside(size: Size, micro_steps: int) -> dict[str, list[float]]:
    """Seconds inside of the guard, of each of many steps in a row on a CPU."""
    training = Training(fitted(size, "cpu", micro_steps), "cpu", micro_steps)
    found: dict[str, list[float]] = {}
    for name in PROBES:
        with clocked() as spent, Turns([name]).of(name):
            taken = []
            for _ in range(SETTLING + TURN):
                spent.clear()
                training.window()
                taken.append(sum(spent))
            found[name] = taken[SETTLING:]
    return found


@contextlib.contextmanager
def clocked() -> Iterator[list[float]]:
    """The seconds of each time that a call is listened to or passes by, before it or after it."""
    spent: list[float] = []
    places = [(hooks.Listener, "before"), (hooks.Listener, "after"), (lane.Lane, "begins"), (lane.Lane, "ends")]
    kept = [(owner, name, getattr(owner, name)) for owner, name in places]
    inside = False

    def timed(function: Callable[..., object]) -> Callable[..., object]:
        def listened(*args: object) -> object:
            nonlocal inside
            if inside:
                return function(*args)
            inside, start = True, time.thread_time()
            try:
                return function(*args)
            finally:
                spent.append(time.thread_time() - start)
                inside = False

        return passed_over(listened)

    for owner, name, function in kept:
        setattr(owner, name, timed(function))
    try:
        yield spent
    finally:
        for owner, name, function in kept:
            setattr(owner, name, function)


def microseconds(rounds: int) -> dict[str, dict[str, float]]:
    """Call -> variant -> median microseconds of one call, in a step so small that little but the calls is timed."""
    training = Training(TINY, "cpu", 4)
    names = ["off", "events", "probes"]
    turns = Turns(names)
    taken: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for turn in range(2 * rounds):
        for name in random.sample(names, len(names)):
            with turns.of(name):
                for _ in range(WARM if turn == 0 else 10):  # calls that are compared: none passes by so soon
                    training.window(lambda call, name=name: _timed(taken[call][name]))
        if turn == 0:
            taken.clear()
    return {call: {name: median(times) * 1e6 for name, times in variants.items()} for call, variants in taken.items()}


@contextlib.contextmanager
def _timed(times: list[float]) -> Iterator[None]:
    start = time.process_time()
    yield
    times.append(time.process_time() - start)


def told(
    shapes: dict[str, dict[str, list[tuple[float, float]]]],
    within: dict[str, dict[str, list[float]]],
    per_call: dict[str, dict[str, float]],
) -> None:
    """Prints all tables."""
    for shape, per_step in shapes.items():
        off = median(other for pairs in per_step.values() for _, other in pairs)
        print(f"\n{shape}: {off * 1e3:.1f} ms without a guard, {len(per_step['probes'])} pairs each\n")
        print("| variant              |  \u00b5s a step | of this step | of 50 ms |")
        print("|----------------------|-----------:|-------------:|---------:|")
        for name, pairs in per_step.items():
            added = extra(pairs)
            print(f"| {name:<20} | {added * 1e6:+10.0f} | {added / off * 100:+10.2f} % | {added * 2000:+6.2f} % |")
    for shape, found in within.items():
        print(f"\n{shape}, inside of the guard: {TURN} steps\n")
        print("| variant              | median, \u00b5s | mean, \u00b5s | mean of 50 ms |")
        print("|----------------------|-----------:|---------:|--------------:|")
        for name, taken in found.items():
            mean = sum(taken) / len(taken)
            print(f"| {name:<20} | {median(taken) * 1e6:10.0f} | {mean * 1e6:8.0f} | {mean * 2000:+11.2f} % |")
    print("\n| call                 | off, \u00b5s | events, \u00b5s | probes, \u00b5s |")
    print("|----------------------|--------:|-----------:|-----------:|")
    for call, times in per_call.items():
        added = [times[name] - times["off"] for name in ("events", "probes")]
        print(f"| {call:<20} | {times['off']:7.1f} | {added[0]:+10.1f} | {added[1]:+10.1f} |")
    sums = [in_all(per_call, name) for name in ("events", "probes")]
    print(f"| a window of four     |         | {sums[0]:+10.1f} | {sums[1]:+10.1f} |")


def in_all(per_call: dict[str, dict[str, float]], variant: str) -> float:
    """Microseconds that a variant adds to a window: each call as often as a window makes it."""
    often = {"scale, backward": 4}
    return sum(often.get(call, 1) * (times[variant] - times["off"]) for call, times in per_call.items())


def extra(pairs: list[tuple[float, float]]) -> float:
    """Seconds added to a step: the median of the differences within the pairs."""
    return median(one - other for one, other in pairs)


def main() -> None:
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--size", choices=SIZES, default="small")
    parser.add_argument("--json", metavar="FILE")
    options = parser.parse_args()
    torch.set_num_threads(1 if options.device == "cpu" else torch.get_num_threads())
    size = SIZES[options.size]
    shapes = {name: steps(size, options.device, length, options.rounds) for name, length in SHAPES.items()}
    within = {name: inside(size, length) for name, length in SHAPES.items()} if options.device == "cpu" else {}
    per_call = microseconds(options.rounds)
    told(shapes, within, per_call)
    if options.json:
        added = {shape: {name: extra(pairs) for name, pairs in found.items()} for shape, found in shapes.items()}
        with open(options.json, "w", encoding="utf-8") as file:
            figures = {"seconds_added": added, "inside": within, "calls": per_call}
            json.dump({"torch": torch.__version__, **figures}, file, indent=2)


if __name__ == "__main__":
    main()
