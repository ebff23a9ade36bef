"""The dynamic loss scale as a curve: its value, the steps that it skipped, how often it grew.

ms-swift's `loss_scale` is a weight of tokens and has nothing to do with this one.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from runtime_guard.report.tensorboard import writer_for

if TYPE_CHECKING:
    from runtime_guard.guarding import guard


class LossScaleLog:
    """What the scalers of a guarded run do, as scalars; written to TensorBoard where a directory is given.

    Nothing waits for a device: on one the numbers are those that have arrived, some updates old.
    """

    def __init__(self, of: guard, directory: str | Path | None = None) -> None:
        self._guard, self._directory = of, directory
        self._writer: Any = None
        self._last: dict[str, float] = {}

    def scalars(self) -> dict[str, float]:
        """`loss_scale`, `loss_scale/skipped_steps`, `loss_scale/growths`; with the scaler's name where there are
        several. {} without an enabled scaler that has stepped."""
        accounts = [account for account in self._guard.recorder.numbers.scales.opened if account.updates]
        found: dict[str, float] = {}
        for account in accounts:
            prefix = "loss_scale" if len(accounts) == 1 else f"loss_scale/{account.name}"
            if account.scale is not None:
                found[prefix] = account.scale
            found[f"{prefix}/skipped_steps"] = float(account.skipped)
            found[f"{prefix}/growths"] = float(account.growths)
        return found

    def write(self, step: int) -> dict[str, float]:
        """The scalars now; what has changed is written at a step of the run.

        Raises TensorBoardMissing where a directory was given and tensorboard is not installed.
        """
        found = self.scalars()
        if self._directory is not None:
            for name, value in found.items():
                if self._last.get(name) != value:
                    self._writer = self._writer or writer_for(str(self._directory))
                    self._writer.add_scalar(f"runtime_guard/{name}", value, step)
            self._last = dict(found)
        return found

    def close(self) -> None:
        """Writes what is buffered."""
        if self._writer is not None:
            self._writer.close()
            self._writer = None
