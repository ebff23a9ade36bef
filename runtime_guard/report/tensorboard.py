"""The curves of a report as TensorBoard scalars, beside those that the training run writes itself."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from runtime_guard.report.curves import curves_of


class TensorBoardMissing(ImportError):
    """Scalars were asked for in an environment without tensorboard; the message says what to install."""


def write(report: Mapping[str, Any], directory: str) -> int:
    """The number of scalars written to `directory`, as `runtime_guard/<quantity>/<optimizer or scaler>` per window.

    Raises TensorBoardMissing where `torch.utils.tensorboard` cannot be imported (it needs the package tensorboard).
    """
    try:
        from torch.utils.tensorboard import SummaryWriter
    except ImportError as error:
        raise TensorBoardMissing("TensorBoard scalars need tensorboard: `pip install tensorboard`") from error
    written = 0
    make: Any = SummaryWriter  # its methods have no annotations
    with make(directory) as writer:
        for quantity, owners in curves_of(report).items():
            for owner, points in owners.items():
                for window, value in points:
                    writer.add_scalar(f"runtime_guard/{quantity}/{owner}", value, int(window))
                    written += 1
    return written
