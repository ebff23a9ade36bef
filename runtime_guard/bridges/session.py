"""A guarded training run that begins and ends with a framework's callbacks."""

from __future__ import annotations

import atexit
import json
import sys
from pathlib import Path
from typing import Any

from runtime_guard.bridges.loss_scale import LossScaleLog
from runtime_guard.guarding import guard


class Session:
    """A guard, what is written of it at its end, and the curve of the loss scale while it runs.

    `report`: a file for the JSON report. `tensorboard`: a directory for the curve of the loss scale, written as it
    changes. `quiet`: no summary on stderr.
    """

    def __init__(
        self,
        report: str | Path | None = None,
        tensorboard: str | Path | None = None,
        quiet: bool = False,
        **options: Any,
    ) -> None:
        self._report, self._tensorboard, self._quiet, self._options = report, tensorboard, quiet, options
        self.guard: guard | None = None
        self.log: LossScaleLog | None = None
        self._running = False

    def begin(self, **found: Any) -> None:
        """Begins, once; what the user has given goes before what the framework says."""
        if self._running:
            return
        self.guard = guard(**{**found, **self._options})
        self.log = LossScaleLog(self.guard, self._tensorboard)
        self.guard.__enter__()
        self._running = True
        atexit.register(self.end)  # where a framework says nothing of a run that fails

    def scalars(self, step: int) -> dict[str, float]:
        """The loss scale, its skips and its growths now, also written to TensorBoard if that was asked for."""
        return self.log.write(step) if self._running and self.log is not None else {}

    def end(self, error: BaseException | None = None) -> None:
        """Ends: reports, and raises in mode `raise` what is only known now."""
        if not self._running or self.guard is None:
            return
        self._running = False
        atexit.unregister(self.end)
        try:
            self.guard.__exit__(type(error) if error is not None else None, error, None)
        finally:
            self._tell(self.guard)

    def _tell(self, ended: guard) -> None:
        report = ended.report()
        if self._report is not None:
            file = ended.recorder.ranks.own(str(self._report))
            file.write_text(json.dumps(report, indent=2, default=str) + "\n", encoding="utf-8")
        if not self._quiet and ended.recorder.ranks.rank == 0:
            sys.stderr.write(ended.summary())
        if self.log is not None:
            self.log.close()
