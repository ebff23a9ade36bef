"""Where a thread is: the calls that are listened to and that it is inside of."""

from __future__ import annotations

import sys
import threading
from collections import Counter
from types import FrameType
from typing import Any

from amplint.protocol.events import Kind, Site

_STEP = "profile_hook_step.<locals>.wrapper"


class Thread(threading.local):
    """The calls that a thread is inside of, by what they are.

    `stepping`: the optimizers whose step runs, each with the frame of torch that runs it. `closure`: what the closure
    of that step has done already, None outside of one. `stepped`: an optimizer has stepped since the scaler was asked.
    """

    def __init__(self) -> None:
        self.inside: Counter[str] = Counter()
        self.stepping: list[tuple[int, int]] = []
        self.closure: set[tuple[Kind, tuple[Site, ...], str | None]] | None = None
        self.stepped = False

    def in_step_of(self, optimizer: Any) -> bool:
        """Whether the step of this optimizer runs."""
        return any(who == id(optimizer) for who, _ in self.stepping)

    def forget_failed_steps(self) -> None:
        """Nobody says when a step has raised: its frame is gone then."""
        if not self.stepping:
            return
        running = set()
        frame: FrameType | None = sys._getframe(1)
        while frame is not None:
            running.add(id(frame))
            frame = frame.f_back
        self.stepping = [entry for entry in self.stepping if entry[1] in running]
        self.inside["step"] = len(self.stepping)
        if not self.stepping:
            self.closure = None


def calling_frame() -> FrameType | None:
    """The frame of torch that runs the step of an optimizer and calls its hooks; the outermost frame without one."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and frame.f_back is not None:
        code = frame.f_code
        if code.co_name == "wrapper" and code.co_filename.endswith("optimizer.py"):
            return frame
        frame = frame.f_back
    return frame
