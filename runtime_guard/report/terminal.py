"""The guard's report for people: what is wrong, then what was confirmed, then what could not be followed."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any

from runtime_guard import measured
from runtime_guard.accounting import accounts, line, wasted
from runtime_guard.report.joined import lines as of_ranks
from runtime_guard.violations import Violation

if TYPE_CHECKING:
    from runtime_guard.guarding import guard


def summary(of: guard, report: dict[str, Any]) -> str:
    """The whole summary; ends with a newline."""
    found = of.violations
    lines = [*(f"off: {reason}" for reason in report["off"]), f"ended: {_ended(report['ended'])}"]
    lines += [line for one in found for line in _told(one)]
    lines += [line for one in report["violations"] if 0 not in one.get("ranks", (0,)) for line in _of_others(one)]
    word = "confirmed" if report["confirmed"] else "seen"
    lines += [f"{word}: {line}" if not index else f"  {line}" for index, line in enumerate(report["seen"])]
    lines += [] if report["windows"]["count"] else [f"nothing is confirmed: {_missing(report)}"]
    lines += [text if at else f"ranks: {text}" for at, text in enumerate(_indented(of_ranks(report)))]
    not_covered = [reason for reason in report["not_covered"] if reason not in report["off"]]
    if not_covered:
        lines += ["not covered:", *(f"  {reason}" for reason in not_covered)]
    return "\n".join(["runtime_guard", *lines]) + "\n"


def _indented(lines: list[str]) -> list[str]:
    return [line if not at else f"  {line}" for at, line in enumerate(lines)]


def _of_others(one: dict[str, Any]) -> list[str]:
    """A finding that rank 0 has not met."""
    ranks = ", ".join(map(str, one["ranks"]))
    place = f"  --> {_shown(one['site']['file'])}:{one['site']['line']}, on rank {ranks} alone"
    return [f"{one['severity']}[{one['code']}]: {one['message']}", place, f"  help: {one['advice']}", ""]


def _ended(ended: dict[str, Any]) -> str:
    """How the run has ended, and where."""
    site = ended["site"]
    return ended["told"] if site is None else f"{ended['told']}, at {_shown(site['file'])}:{site['line']}"


def _missing(report: dict[str, Any]) -> str:
    steps = report["steps"]
    if not steps:
        return "no optimizer step was seen"
    return f"before none of the {steps} optimizer steps was a backward pass seen to leave its gradients"


def _told(one: Violation) -> list[str]:
    times = f", {often}" if (often := one.often()) else ""
    lines = [f"{one.severity}[{one.code}]: {one.message}", f"  --> {_shown(one.site.path)}:{one.site.row}{times}"]
    lines += [f"  {_shown(earlier.site.path)}:{earlier.site.row}: {earlier.event}" for earlier in one.previous]
    return [*lines, f"  help: {one.advice}", ""]


def seen(of: guard, found: list[Violation]) -> list[str]:
    """What was seen: the whole run in one line, then a line for each optimizer and scaler, and what has become of the
    backward passes."""
    recorder, tally = of.recorder, of.recorder.tally
    passes = [line(counts)] if (counts := accounts(tally)) else []
    if not tally.windows:
        return passes
    parts = [_windows(tally.windows, tally.lengths)]
    if (weight := tally.weights) is not None:
        low, high, count = weight[0], weight[1], weight[2] - tally.unread
        parts.append(f"weight {_range(low, high)}" + (f" in {count} of them" if count < tally.windows else ""))
        parts += recorder.measures.run(measured.stepped, recorder.numbers, low, high, default=[])
    wrong = {one.code for one in found}
    clips = sum(tally.clips.values()) if tally.weights is not None or not recorder.measures.on else 0
    if clips and not any(code.startswith("clip-") for code in wrong):
        parts.append("clipped after unscale_" if tally.unscales else "clipped before the step")
    steps = sum(counts[0] for counts in tally.scalers.values())
    if steps:
        skipped = sum(scale.skipped for scale in recorder.numbers.scales.opened)
        parts.append(f"{skipped} step{'s'[: skipped != 1]} skipped by the scaler")
    parts += [_cadence(kind, count, tally.windows) for kind, count in tally.schedulers.values() if count]
    numbers = recorder.measures.run(measured.summary, recorder.numbers, default=[])
    return [", ".join(parts), *numbers, *passes]


def is_right(of: guard, found: list[Violation]) -> bool:
    """Whether what was seen is what is expected of a right loop: nothing was found, the weights of the losses are known
    and the same in all windows, and most of the backward passes were stepped with."""
    tally, numbers = of.recorder.tally, of.recorder.numbers
    if found or not tally.windows or tally.weights is None or wasted(accounts(tally)):
        return False
    return measured.even(numbers) if of.recorder.measures.on else tally.weights[0] == tally.weights[1]


def _windows(count: int, lengths: dict[int, int]) -> str:
    sizes = " or ".join(str(length) for length in sorted(lengths))
    return f"{count} window{'s'[: count != 1]} of {sizes} micro-step{'s'[: sizes != '1']}"


def _cadence(kind: str, count: int, windows: int) -> str:
    return f"{kind} once per update" if count == windows else f"{kind} {count} times for {windows} updates"


def _range(low: float, high: float) -> str:
    return f"{low:.3f}" if f"{low:.3f}" == f"{high:.3f}" else f"{low:.3f} to {high:.3f}"


def _shown(path: str) -> str:
    relative = os.path.relpath(path) if os.path.isabs(path) else path
    return path if relative.startswith("..") else relative
