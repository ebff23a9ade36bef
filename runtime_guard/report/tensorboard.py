"""The curves of a report as TensorBoard scalars, its findings as text, beside what the training run writes itself."""

from __future__ import annotations

import os
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


class Board:
    """What was written to a directory so far. Raises TensorBoardMissing."""

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        self._writer = writer_for(os.fspath(directory))
        self._until: dict[str, float] = {}
        self._told: set[tuple[str, str, int]] = set()

    def write(self, report: Mapping[str, Any]) -> int:
        """The number of scalars written, as `runtime_guard/<quantity>/<optimizer or scaler>` per window: those that
        are new. What was found and confirmed is written as text."""
        written = 0
        for quantity, owners in curves_of(report).items():
            for owner, points in owners.items():
                tag = f"runtime_guard/{quantity}/{owner}"
                for window, value in points:
                    if window > self._until.get(tag, -1.0):
                        self._writer.add_scalar(tag, value, int(window))
                        self._until[tag] = window
                        written += 1
        self._texts(report)
        self._writer.flush()
        return written

    def _texts(self, report: Mapping[str, Any]) -> None:
        """Each finding once, with its place; how the run has ended, and what was confirmed."""
        for one in report.get("violations", ()):
            site = one["site"]
            key = one["code"], site["file"], site["line"]
            if key not in self._told:
                self._told.add(key)
                self._writer.add_text(f"runtime_guard/{one['code']}", _text(one), int(one.get("window") or 0))
        ended = report.get("ended")
        if ended is not None and ended["how"] != "unfinished":
            lines = [f"ended: {ended['told']}", *(report.get("seen") or report.get("confirmed", ()))]
            self._writer.add_text("runtime_guard/ended", "\n\n".join(lines))

    def close(self) -> None:
        """Nothing more is written."""
        self._writer.close()


def write(report: Mapping[str, Any], directory: str | os.PathLike[str]) -> int:
    """The number of scalars written to a directory of what a whole report holds. Raises TensorBoardMissing."""
    board = Board(directory)
    try:
        return board.write(report)
    finally:
        board.close()


def _text(one: Mapping[str, Any]) -> str:
    """A finding in Markdown."""
    site = one["site"]
    told = [f"**{one['severity']}** {one['message']}", f"`{site['file']}:{site['line']}`"]
    return "\n\n".join([*told, *([f"help: {one['advice']}"] if one.get("advice") else [])])
