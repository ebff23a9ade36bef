"""`with guard(...)`: listens to the training step while the block runs, and judges it by the rules of amplint."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Any

from amplint.catalogue import RULES
from runtime_guard.configuration import choice, mode_of
from runtime_guard.endings import Ending, WindowsSeen, ending_of, plain_ending, unfinished
from runtime_guard.hooks import Shield
from runtime_guard.ignores import Ignores
from runtime_guard.interim import Interim
from runtime_guard.listening import Listening
from runtime_guard.recorder import Recorder
from runtime_guard.report.document import document
from runtime_guard.report.joined import part_of
from runtime_guard.report.terminal import summary
from runtime_guard.roles import inner_schedule
from runtime_guard.unchecked import NothingChecked, unfollowed, why_unchecked
from runtime_guard.violations import ProtocolViolation, Violation, Violations


class GuardWarning(UserWarning):
    """A violation, in mode `warn`."""


class guard:
    """Listens to the training step inside the block.

    Everything of the process is listened to; the objects that are given are known from the start, and
    `accumulation_steps` says how many micro-steps a window is meant to have. Modes: `raise` raises ProtocolViolation at
    the call that proves an error, and at the end of the block for what is known only then, and NothingChecked there if
    nothing could be checked; `warn` warns at the place; `record` keeps silent. The environment variable `RUNTIME_GUARD`
    decides the mode where it is set.
    """

    whole = True
    """Whether it sees all of the run, so that it is for this guard to say that nothing was checked."""

    def __init__(
        self,
        optimizer: Any = None,
        *,
        scaler: Any = None,
        scheduler: Any = None,
        model: Any = None,
        accumulation_steps: int | None = None,
        mode: str = "warn",
        select: Sequence[str] | None = None,
        ignore: Sequence[str] = (),
        probe_every: int = 16,
        stop_after_windows: int | None = None,
    ) -> None:
        self.mode = mode_of(mode)
        self._choice, self._ignores = choice(select, ignore), Ignores()
        self._violations, self._pending = Violations(), list[Violation]()
        self._stop_after = stop_after_windows
        self.recorder = Recorder(
            RULES,
            self._found,
            Shield("the measurement", self._failed),
            accumulation_steps,
            probe_every,
            at_once=self.mode == "raise",
        )
        self.interim = Interim()
        self._ending: Ending | None = None
        awake = stop_after_windows is not None
        self._listening = Listening(
            self.recorder, self._verdict, self._pending, self._admit, self._failed, awake, self.interim
        )
        self.recorder.ranks.report = self._part
        self._given = {"optimizer": optimizer, "scaler": scaler, "scheduler": scheduler}
        self.off: dict[str, None] = {}

    @property
    def violations(self) -> list[Violation]:
        """Those found so far that are selected and not ignored, by place."""
        self.recorder.course.catch_up()
        return [one for one in self._violations.visible() if self._speaks(one)]

    @property
    def rules(self) -> list[str]:
        """The rules that may speak in this run."""
        return [name for name, rule in RULES.items() if self._choice.speaks(rule, "")]

    @property
    def unchecked(self) -> str | None:
        """Why nothing is proven by this run, if nothing is; in one sentence."""
        tally = self.recorder.tally
        return why_unchecked(list(self.off), unfollowed(tally), tally.windows, tally.steps)

    @property
    def ending(self) -> Ending:
        """How the run has ended."""
        return self._ending or unfinished()

    def report(self, wait: bool = True) -> dict[str, Any]:
        """Everything that was seen, as the JSON report has it. `wait`: for numbers that are on their way from a
        device."""
        return document(self, wait)

    def summary(self) -> str:
        """The report for people: what is wrong, what was confirmed, what could not be followed."""
        return summary(self, self.report())

    def __enter__(self) -> guard:
        self._ending = None
        if self.mode != "off":
            Shield("the guard", self._failed).run(self._begin)
        return self

    def _begin(self) -> None:
        try:
            self._listening.begin()
        except Exception:
            self._listening.end()
            raise
        self._introduce()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self.mode == "off" or self._ending is not None:  # a signal that comes while it ends
            return
        self._ends(self._listening.end)
        self.interim.end()
        self._ending = self._ends(self._how, error, trace) or plain_ending(error)
        self._ends(self.recorder.settle, True)
        if self._ending.whole:
            self._ends(self.recorder.end)
        self._ends(self.recorder.ranks.exchange, self._ending.whole)
        if self._ending.whole:
            self._ends(self.recorder.compare)
            self._verdict()
            if self.whole and self.mode == "raise":
                self.demand()

    def _ends(self, function: Callable[..., Any], *args: Any) -> Any:
        """Does a part of what is done at the end; None if that fails."""
        return Shield("the end of the run", self._failed).run(function, *args)

    def _how(self, error: BaseException | None, trace: TracebackType | None) -> Ending:
        return ending_of(error, trace, self.recorder.tally.windows, self.recorder.sites.is_of_user)

    def _part(self) -> dict[str, Any]:
        """What rank 0 is told of this one."""
        return part_of(self.report())

    def demand(self) -> None:
        """Raises NothingChecked if nothing could be checked."""
        if (why := self.unchecked) is not None:
            raise NothingChecked(why)

    def leave_to_child(self) -> list[Any]:
        """In a process that was forked: everything is put back. The optimizers that are known so far."""
        self._listening.end()
        return [thing for thing, _ in self.recorder.optimizers.living()]

    def _introduce(self) -> None:
        known = Shield("the objects that were given", self._failed)
        if all(given is None for given in self._given.values()):
            known.run(self.recorder.find_optimizers)
        if (optimizer := self._given["optimizer"]) is not None:
            for one in optimizer if isinstance(optimizer, list | tuple) else [optimizer]:
                known.run(self.recorder.optimizer, one)
        if (scaler := self._given["scaler"]) is not None:
            known.run(self.recorder.scaler, scaler)
        if (scheduler := self._given["scheduler"]) is not None:
            for one in scheduler if isinstance(scheduler, list | tuple) else [scheduler]:
                known.run(self.recorder.scheduler, inner_schedule(one))

    def _found(self, new: Violation) -> None:
        if self._violations.add(new) and self._speaks(new):
            self._pending.append(new)

    def _speaks(self, one: Violation) -> bool:
        """Whether the rule is selected there, and no comment at one of the sites silences it."""
        rule = RULES[one.code]
        sites = (one.site, *(earlier.site for earlier in one.previous))
        return self._choice.speaks(rule, one.site.path) and not self._ignores.silence(one.code, sites)

    def _verdict(self) -> None:
        """Says what was found since it was last asked, as the mode wants."""
        if not self._pending:
            return
        pending = list(self._pending)
        self._pending.clear()  # the listeners look at this very list
        for one in pending if self.mode != "record" else ():
            text = Shield("a message", self._failed).run(one.text, default=one.message)
            if self.mode == "raise" and one.severity == "error":
                raise ProtocolViolation(text)
            warnings.warn_explicit(text, GuardWarning, one.site.path, one.site.row)

    def _admit(self) -> None:
        """Lets another micro-step begin, unless enough windows were seen."""
        if self._stop_after is not None and self.recorder.tally.windows >= self._stop_after:
            raise WindowsSeen

    def _failed(self, name: str, error: Exception) -> None:
        """Says that a part of the guard has failed. Not a warning: those may be errors, and would end the run."""
        said = f"{name} failed in the guard and is switched off: {type(error).__name__}: {error}"
        self.off[said] = self.recorder.course.counted.not_covered[said] = None
        sys.stderr.write(f"runtime_guard: {said}; the run goes on\n")
