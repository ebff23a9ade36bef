"""The loss scale of each scaler over the run, and the steps that it skipped, without waiting for a device.

Whether a step was skipped is known from the optimizer's hook that did or did not fire; a fused optimizer decides that
on its device, and the scaler keeps what it found. These and the scale are tensors: on the CPU they are read, on a
device they are sent off in probed updates (or at the end) and read when they have arrived: a reading may be late.
"""

from __future__ import annotations

import weakref
from dataclasses import dataclass, field
from math import isclose
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor

from amplint.protocol.readings import ScaleReading
from runtime_guard.figures import Curve, Figure
from runtime_guard.late import Number, Parcel, capturing, number

IN_FLIGHT = 64
UNDECIDED = 4096


@dataclass
class ScaleAccount:
    """One scaler: its scale as last known, its steps, and its curve. `decided`: the steps that fused optimizers have
    decided about by themselves."""

    name: str
    growth_interval: int
    initial: float
    backoff: float
    scale: float | None = None
    steps: int = 0
    skipped: int = 0
    first: int = 0
    row: int = 0
    updates: int = 0
    sent: int = 0
    decided: int = 0
    figure: Figure = field(default_factory=Figure)
    curve: Curve = field(default_factory=Curve)
    skips: Curve = field(default_factory=Curve)
    growths: int = 0
    undecided: list[Tensor] = field(default_factory=list)
    latest: Tensor | None = None
    travelling: list[tuple[int, Parcel]] = field(default_factory=list)
    told: bool = False
    seen: list[Tensor] = field(default_factory=list)
    before: tuple[int, int] = (0, 0)
    period: tuple[int, int] = (0, 0)

    def becomes(self) -> None:
        """Takes the steps and updates since it was last told for those of a period."""
        now = self.steps - self.decided, self.updates
        self.period = now[0] - self.before[0], now[1] - self.before[1]
        self.before = now

    def repeated(self, periods: int) -> None:
        """Enters so many such periods, in which no step was skipped and the scale was what it is."""
        first = self.updates + 1
        self.steps += periods * self.period[0]
        self.updates += periods * self.period[1]
        self.before = self.steps - self.decided - self.period[0], self.updates - self.period[1]
        if self.updates >= first:
            self.skips.reach(first, self.updates, float(self.skipped))
            self.curve.reach(first, self.updates, self.scale)
            self.figure.add(self.scale, periods * self.period[1])

    def stepped(self, skipped: bool) -> None:
        """Counts a step through the scaler."""
        if skipped:
            self.skipped += 1
            self.row += 1
            self.first += self.first == self.steps
        else:
            self.row = 0
        self.steps += 1

    def decided_by(self, found: Number) -> None:
        """Counts a step that was skipped if something not finite was found; kept for later if that is on a device."""
        if isinstance(found, float):
            self._decided(found)
        else:
            self.undecided.append(found)
            del self.undecided[:-UNDECIDED]

    def _decided(self, found: float) -> None:
        self.decided += 1
        self.stepped(found > 0)

    def updated(self, scale: Tensor | float | None, every: int) -> ScaleReading:
        """The reading after an update. Takes the scale as soon as it is on the host. `every`: on a device, the numbers
        of one update in so many are fetched."""
        self._update(scale, every)
        return self.reading()

    def _update(self, scale: Tensor | float | None, every: int) -> None:
        self.updates += 1
        self.seen.clear()
        self.skips.add(self.updates, float(self.skipped))
        if scale is None or capturing():
            return
        known = number(scale) if isinstance(scale, Tensor) else scale
        self.latest = scale if isinstance(scale, Tensor) else torch.tensor(scale)
        if isinstance(known, float) and not self.undecided and not self.travelling:
            self._arrived(self.updates, known)
            self.latest = None
            return
        if isinstance(known, float) or (every > 0 and self.updates - self.sent >= every):
            self._send()
        self.settle(wait=False)

    def _arrived(self, update: int, scale: float) -> None:
        self.growths += self.scale is not None and scale > self.scale
        self.scale = scale
        self.figure.add(scale)
        self.curve.add(update, scale)

    def _send(self) -> None:
        """Sends off the scale and what is not decided."""
        if self.latest is not None:
            self.travelling.append((self.updates, Parcel([number(self.latest), *self.undecided])))
            self.latest, self.undecided, self.sent = None, [], self.updates

    def settle(self, wait: bool) -> None:
        """Enters what has arrived, in order; the oldest is let go when the device is far behind."""
        if wait:
            self._send()
        while self.travelling and (wait or self.travelling[0][1].arrived):
            update, parcel = self.travelling.pop(0)
            scale, *found = parcel.values()
            for value in found:
                self._decided(value)
            self._arrived(update, scale)
        del self.travelling[:-IN_FLIGHT]

    def reading(self) -> ScaleReading:
        """The numbers of this scaler now."""
        taken = self.steps > self.first
        first = self.first if taken and not self.told else 0
        self.told = taken
        lost = self.skipped - self.first if self._only_fell() else 0
        since = self.steps - self.first
        return ScaleReading(self.scale, self.steps, self.skipped, first, self.row, self.growth_interval, lost, since)

    def _only_fell(self) -> bool:
        """Whether the scale is what the skipped steps have left of the one that the scaler began with."""
        return self.scale is not None and isclose(self.scale, self.initial * self.backoff**self.skipped)

    def as_json(self) -> dict[str, Any]:
        """The scaler for a report."""
        return {
            "name": self.name,
            "scale": self.scale,
            "scale_range": self.figure.as_json(),
            "steps": self.steps,
            "skipped": self.skipped,
            "growths": self.growths,
            "growth_interval": self.growth_interval,
        }


@dataclass
class Scales:
    """Every enabled scaler of the run."""

    accounts: WeakKeyDictionary[torch.amp.GradScaler, ScaleAccount] = field(default_factory=WeakKeyDictionary)
    opened: list[ScaleAccount] = field(default_factory=list)
    _read: tuple[weakref.ref[Tensor], int, float] | None = None

    def of(self, scaler: torch.amp.GradScaler) -> ScaleAccount:
        """The account of a scaler, opened when it is first seen."""
        known = self.accounts.get(scaler)
        if known is None:
            name = f"{type(scaler).__name__}#{len(self.opened) + 1}"
            known = self.accounts[scaler] = ScaleAccount(
                name, scaler.get_growth_interval(), scaler._init_scale, scaler.get_backoff_factor()
            )
            self.opened.append(known)
        return known

    def stepped(self, scaler: torch.amp.GradScaler, skipped: bool | None) -> None:
        """Counts a step through a scaler; None for one that a fused optimizer may have skipped by itself."""
        account = self.of(scaler)
        if skipped is not None:
            account.stepped(skipped)
            return
        for state in scaler._per_optimizer_states.values():
            found = list(state["found_inf_per_device"].values())
            if found and state["stage"].name == "STEPPED" and all(found[0] is not one for one in account.seen):
                account.seen.append(found[0])
                account.decided_by(number(found[0]))

    def of_now(self, scaler: torch.amp.GradScaler) -> float | None:
        """The present scale, if the host knows it. It is read once for each version of the tensor that holds it."""
        tensor, known = scaler._scale, self._read
        if tensor is None:
            return None
        if known is None or known[0]() is not tensor or known[1] != tensor._version:
            found = number(tensor)
            if not isinstance(found, float):
                return None
            known = self._read = weakref.ref(tensor), tensor._version, found
        return known[2]
