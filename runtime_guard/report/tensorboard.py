"""The curves of a report as TensorBoard scalars, beside those that the training run writes itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime_guard.report.curves import curves_of


class TensorBoardMissing(ImportError):
    """Scalars were asked for in an environment without tensorboard; the message says what to install."""


def writer_for(directory: str) -> Any:
    """A writer of scalars. Raises TensorBoardMissing."""
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise TensorBoardMissing("TensorBoard scalars need tensorboard: `pip install tensorboard`") from error
    make: Any = SummaryWriter  # its methods have no annotations
    return make(directory)


def write(report: Mapping[str, Any], directory: str) -> int:
    """The number of scalars written to `directory`, as `runtime_guard/<quantity>/<optimizer or scaler>` per window.

    Raises TensorBoardMissing where `torch.utils.tensorboard` cannot be imported (it needs the package tensorboard).
    """
    written = 0
    with writer_for(directory) as writer:
        for quantity, owners in curves_of(report).items():
            for owner, points in owners.items():
                for window, value in points:
                    writer.add_scalar(f"runtime_guard/{quantity}/{owner}", value, int(window))
                    written += 1
    return written
