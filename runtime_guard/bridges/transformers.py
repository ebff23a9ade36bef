"""A callback for transformers' Trainer, and so for TRL's and ms-swift's: `Trainer(callbacks=[GuardCallback()])`.

`TrainerCallback` of transformers 5.23: `on_train_begin` comes after optimizer and scheduler were made, and before the
first batch; `on_step_end` after each optimizer step.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from transformers import TrainerCallback

from runtime_guard.bridges.session import Session


class GuardCallback(TrainerCallback):  # type: ignore[misc, unused-ignore]
    """Guards a training run. `options` are those of `guard`.

    `report`: a file for the JSON report. `tensorboard`: a directory for the curve of the loss scale. The loss scale,
    its skips and its growths also go into what the Trainer logs (`state.log_history`).
    """

    def __init__(
        self,
        report: str | Path | None = None,
        tensorboard: str | Path | None = None,
        quiet: bool = False,
        **options: Any,
    ) -> None:
        self.session = Session(report, tensorboard, quiet, **options)

    def on_train_begin(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Begins to listen."""
        found = {"optimizer": kwargs.get("optimizer"), "scheduler": kwargs.get("lr_scheduler")}
        self.session.begin(**{name: thing for name, thing in found.items() if thing is not None})

    def on_step_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Writes the curve of the loss scale."""
        self.session.scalars(state.global_step)

    def on_log(self, args: Any, state: Any, control: Any, logs: dict[str, Any] | None = None, **kwargs: Any) -> None:
        """Adds the loss scale to what is logged."""
        found = self.session.scalars(state.global_step)
        for told in (logs, state.log_history[-1] if state.log_history else None):
            if told is not None:
                told.update(found)

    def on_train_end(self, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        """Reports."""
        self.session.end()
