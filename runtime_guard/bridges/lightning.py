"""A callback for Lightning's Trainer: `Trainer(callbacks=[GuardCallback()])`.

`Callback` of lightning 2.6: `on_fit_start` comes after `configure_optimizers`; `on_exception` instead of `on_fit_end`
where a run fails.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

try:
    from lightning.pytorch.callbacks import Callback
except ImportError:  # the older package
    from pytorch_lightning.callbacks import Callback

from runtime_guard.bridges.session import Session


class GuardCallback(Callback):  # type: ignore[misc, unused-ignore]
    """Guards a fit. `options` are those of `guard`.

    `report`: a file for the JSON report. `tensorboard`: a directory for the curve of the loss scale. The loss scale,
    its skips and its growths also go to the loggers of the Trainer, as often as it logs.
    """

    def __init__(
        self,
        report: str | Path | None = None,
        tensorboard: str | Path | None = None,
        quiet: bool = False,
        **options: Any,
    ) -> None:
        super().__init__()
        self.session = Session(report, tensorboard, quiet, **options)

    def on_fit_start(self, trainer: Any, pl_module: Any) -> None:
        """Begins to listen."""
        self.session.begin()

    def on_train_batch_end(self, trainer: Any, pl_module: Any, outputs: Any, batch: Any, batch_idx: int) -> None:
        """Writes the curve of the loss scale."""
        found = self.session.scalars(trainer.global_step)
        if found and (batch_idx + 1) % max(trainer.log_every_n_steps, 1) == 0:
            for logger in trainer.loggers:
                logger.log_metrics(found, step=trainer.global_step)

    def on_fit_end(self, trainer: Any, pl_module: Any) -> None:
        """Reports."""
        self.session.end()

    def on_exception(self, trainer: Any, pl_module: Any, exception: BaseException) -> None:
        """Reports on a run that has failed."""
        self.session.end(exception)
