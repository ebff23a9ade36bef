"""What the runner tells of a run: the files that were asked for, while it goes on and at its end, and the summary.

A file is written beside the one that is there and takes its place at once, so that whoever reads it finds a whole one.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from runtime_guard import spawned
from runtime_guard.endings import Terminated
from runtime_guard.report.tensorboard import Board, TensorBoardMissing
from runtime_guard.written import replace, write

if TYPE_CHECKING:
    from runtime_guard.guarding import guard

_PATIENCE = 2.0
"""So many seconds a process that was asked to terminate waits for the other ranks: soon it is killed."""


class Told:
    """The reports of one run. `parts`: where the children that it spawns leave theirs."""

    def __init__(self, made: guard, options: argparse.Namespace, parts: tempfile.TemporaryDirectory[str]) -> None:
        self._made, self._options, self._parts = made, options, parts
        self._board: Board | None = None

    def begin(self) -> None:
        """From now on reports are written now and then."""
        options = self._options
        if options.report or options.html or options.tensorboard:
            self._made.interim.begin(options.flush_every, self._meanwhile)

    def terminated(self) -> None:
        """Ends the guard and writes its report, amid whatever the script does."""
        self._made.recorder.ranks.patience = _PATIENCE
        self._made.__exit__(Terminated, Terminated(), None)
        with self._parts:
            self.ended()
        sys.stderr.flush()

    def ended(self) -> dict[str, Any]:
        """Writes what was asked for; the report of this process and of the children that it spawned."""
        made, options = self._made, self._options
        parts = spawned.collected(self._parts.name)
        own = {**made.report(), "script": options.script}
        report = spawned.joined(own, parts)
        told = ""
        if options.lint:
            from runtime_guard.report.linted import linted

            report["static"], told = linted(report)
        for name, text in self._files(report):
            write(made.recorder.ranks.own(name), text)
        if not options.quiet and not made.recorder.ranks.delivered:
            from runtime_guard.report.terminal import summary

            sys.stderr.write(summary(made, own) + "".join(part.get("summary", "") for part in parts))
        sys.stderr.write(told)
        self._to_board(report, over=True)
        return report

    def _meanwhile(self) -> None:
        """The same while the run goes on: nobody waits for a device, and nothing is said in the terminal."""
        made = self._made
        with made.recorder.lock:
            own = {**made.report(wait=False), "script": self._options.script}
            report = spawned.joined(own, spawned.collected(self._parts.name, over=False))
        for name, text in self._files(report):
            try:
                replace(made.recorder.ranks.own(name), text)
            except OSError:
                continue  # at the end it is said, and written elsewhere
        self._to_board(report, over=False)

    def _files(self, report: dict[str, Any]) -> Sequence[tuple[str, str]]:
        """The files that were asked for, and what is in them."""
        from runtime_guard.report.html import page

        options = self._options
        found = [(options.report, json.dumps(report, indent=2, default=str) + "\n")] if options.report else []
        return [*found, *([(options.html, page(report))] if options.html else [])]

    def _to_board(self, report: dict[str, Any], over: bool) -> None:
        """Writes what is new for TensorBoard, in a directory of this rank's own."""
        if not self._options.tensorboard:
            return
        try:
            if self._board is None:
                self._board = Board(self._made.recorder.ranks.own(self._options.tensorboard))
            self._board.write(report)
        except TensorBoardMissing as error:
            sys.stderr.write(f"runtime_guard: {error}\n")
            self._options.tensorboard = None  # it is said once
        if over and self._board is not None:
            self._board.close()
