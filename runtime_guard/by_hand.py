"""What is made of changes that no call tells of: gradients edited by hand, losses divided after their backward."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from amplint.protocol.events import STEPS, Kind, Site
from amplint.protocol.ledger import Grads, carried
from amplint.protocol.readings import Reading
from amplint.protocol.state import Moment
from runtime_guard.clips_by_hand import Thresholds, edit_in
from runtime_guard.held import Held
from runtime_guard.late_division import quotient_in
from runtime_guard.owners import GIVEN, parameters_of
from runtime_guard.unseen import watched

if TYPE_CHECKING:
    from runtime_guard.recorder import Recorder


class ByHand:
    """What the user does without a call. `whole`: the optimizers whose last window was not divided."""

    def __init__(self, recorder: Recorder) -> None:
        self._recorder = recorder
        self._watched = watched()
        self._thresholds = Thresholds()
        self.whole = set[str]()
        self._hidden, self._unseen = set[str](), set[str]()

    def changed(self, optimizer: Any, name: str, unscaled_now: bool, appeared: bool = False) -> None:
        """The event of gradients that were edited: the division by a loss scale, if they carried one by hand and all of
        them were divided by it, else unknown code; before it a clip, if a scaler's scale is in them and nothing else
        explains what is left of them. None for what was gathered elsewhere and has `appeared` where it is stepped."""
        recorder = self._recorder
        if appeared and self._open(name) and self._gathers(optimizer, name):
            return
        alone = recorder.homes.undisturbed  # else another thread may be filling the gradients that would be read
        factor = recorder.measures.run(recorder.numbers.by_hand, optimizer) if alone else None
        ledger, stack = recorder.state.ledgers[name], recorder.sites.stack()
        scale = carried(ledger, factor) if ledger.grads is Grads.PLAIN else None
        if unscaled_now and alone and ledger.grads is Grads.SCALED:
            self._clipped(optimizer, name)
        if scale is None:
            recorder.feed(Kind.OPAQUE, optimizer=name, stack=stack)
            return
        asked = self._watched.in_files({site.path for site in recorder.sites.chain.get(stack, stack)})
        detail = {"scale": f"{float(scale):g}"} | ({} if asked else {"unchecked": "yes"})
        recorder.feed(Kind.DIVIDE, optimizer=name, stack=stack, weight=1 / float(scale), detail=detail)

    def look(self, unscales: Any) -> None:
        """The same of gradients that were edited and no version shows it, as through NumPy: their values are looked at
        in the windows that are followed, on the CPU, where nobody else changes them."""
        recorder = self._recorder
        recorder.ranks.look()  # what changes gradients beside other ranks is perhaps their mean
        if not (recorder.ranks.alone and recorder.measures.on and recorder.homes.undisturbed):
            return
        for thing, name in recorder.optimizers.living():
            if recorder.measures.run(recorder.numbers.edited, thing):
                self._unseen.add(name)
                self.changed(thing, name, thing is unscales)
                recorder.measures.run(recorder.numbers.before_touch, thing)

    def before_step(self, optimizer: Any, name: str) -> None:
        """The event of such an edit in a window whose values are not looked at."""
        recorder = self._recorder
        if name in self._unseen and not recorder.measures.run(recorder.numbers.follows, optimizer):
            recorder.feed(Kind.DIVIDE, optimizer=name)

    def hides(self, name: str, why: str | None) -> None:
        """What the losses of the present window weigh is not known, whatever their graphs say, if there is a reason."""
        if why is not None:
            self._hidden.add(name)
            self._recorder.course.counted.not_covered[why] = None

    def reading(self, optimizer: Any, name: str, token: list[Moment]) -> Reading | None:
        """The numbers of the window that a step ends, which are to be told to the moments in `token`, if they hold."""
        hidden = name in self._hidden
        self._hidden.discard(name)
        measured = self._recorder.numbers.at_step
        found: Reading | None = self._recorder.measures.run(measured, optimizer, None if hidden else token)
        return None if hidden else found

    def _clipped(self, optimizer: Any, name: str) -> None:
        """The event of a clip by hand, where the gradients have met a threshold before."""
        recorder = self._recorder
        carried_now = recorder.measures.run(recorder.numbers.loss_scale, optimizer)
        limit = recorder.measures.run(self._thresholds.met, optimizer, name, carried_now)
        if limit is not None:
            stack = recorder.sites.stack()
            place = (*stack[:-1], edit_in(stack[-1].path) or stack[-1])
            detail = {"limit": f"{limit:.6g}", "scale": str(carried_now)}
            recorder.feed(Kind.CLIP, optimizer=name, stack=place, detail=detail)

    def closing(self, optimizer: Any) -> None:
        """The end of a window, before its step. What a framework does to gradients among several ranks shares them."""
        recorder = self._recorder
        recorder.ranks.look()
        name, stack = recorder.optimizers.of(optimizer), recorder.sites.stack()
        if name is not None:
            self._divided_by_hooks(optimizer, name, stack)
        shared = not recorder.ranks.alone and recorder.frameworks.knows(stack)
        held = recorder.measures.run(recorder.numbers.closing, optimizer, shared)
        if name is not None:
            self._held(optimizer, name, held)

    def steps(self, optimizer: Any, evaluates: bool) -> bool:
        """The events of what has happened until a step, but for one that a framework takes while it is set up. Whether
        the step is of the same update as the one before; of one that `evaluates` a closure it is not asked."""
        recorder = self._recorder
        if recorder.frameworks.sets_up(recorder.sites.stack()):
            recorder.seen()
        else:
            recorder.look(steps=True)
        name = recorder.optimizers.of(optimizer) if not evaluates else None
        return name is not None and recorder.watches[name].continues(optimizer, self._open(name))

    def _divided_by_hooks(self, optimizer: Any, name: str, stack: tuple[Site, ...]) -> None:
        """The event of losses that the user has back-propagated by torch, where the framework that steps has divided
        what arrived at its model's outputs, unless the graph shows it."""
        recorder = self._recorder
        length = recorder.frameworks.told(stack, {}).get("plain")
        last = recorder.state.last.get(name, {}).get(Kind.BACKWARD)
        if length is None or last is None or "through" in last.detail or not self._open(name):
            return
        if "hooked" not in last.detail:
            recorder.measures.run(recorder.numbers.divided, optimizer, float(length))
            recorder.feed(Kind.DIVIDE, optimizer=name, stack=last.step_of_program, weight=1 / float(length))

    def _held(self, optimizer: Any, name: str, held: Held | None) -> None:
        """What was measured of what is stepped. Where the first part of the window is missing, gradients that are gone
        before a backward were erased, from now on and in this window; where it is another thing than what the backward
        passes gave, nothing is known of its weight."""
        recorder, watch = self._recorder, self._recorder.watches[name]
        if held is not None:
            watch.looks[held] += 1
            watch.erases, watch.strange = watch.erases or held in (Held.LAST, Held.PART), held is Held.OTHER
        last, window = recorder.state.last.get(name, {}).get(Kind.BACKWARD), recorder.state.ledgers[name].window
        lacks = held in (Held.LAST, Held.PART)
        if lacks and last is not None and len(window.losses) == 1 < window.micro_steps:
            kept = recorder.measures.run(recorder.numbers.shortened, optimizer, default=1)
            detail, place = {"by_hand": "yes", "but": str(kept)}, last.step_of_program
            recorder.feed(Kind.ZERO_GRAD, optimizer=name, stack=place, detail=detail)
            for _ in range(kept):
                recorder.feed(
                    Kind.BACKWARD, optimizer=name, stack=place, weight=last.weight, scaled=last.scaled,
                    detail=dict(last.detail), forward=last.forward, region=last.region, alone=last.alone,
                    branches=last.branches,
                )  # fmt: skip
        elif lacks or watch.strange:
            recorder.feed(Kind.DIVIDE, optimizer=name)

    def gone(self, optimizer: Any, name: str, steps: bool) -> None:
        """The event of gradients that are there no more: dropped; none where somebody gathers them elsewhere, unless it
        was measured that they were lost before the step."""
        kept = steps or not self._recorder.watches[name].erases
        if not (kept and self._open(name) and self._gathers(optimizer, name)):
            self.erased(optimizer, name)

    def _gathers(self, optimizer: Any, name: str) -> bool:
        """Whether somebody takes gradients away and gathers them elsewhere."""
        return self._recorder.watches[name].gathered or GIVEN.together(optimizer)

    def _open(self, name: str) -> bool:
        """Whether a window of an optimizer has begun."""
        return self._recorder.state.ledgers[name].window.micro_steps > 0

    def after_step(self, optimizer: Any, name: str) -> None:
        """The event of gradients that a step has dropped when it had used them, or before, when they had been gathered
        elsewhere."""
        watch = self._recorder.watches[name]
        taken = watch.empty and self._gathers(optimizer, name)
        if taken or (not watch.empty and watch.news() == "gone"):
            self.erased(optimizer, name)

    def erased(self, optimizer: Any, name: str) -> None:
        """The event of gradients that were dropped by hand."""
        self._recorder.feed(Kind.ZERO_GRAD, optimizer=name, detail={"by_hand": "yes"})
        self._recorder.measures.run(self._recorder.numbers.erased, optimizer)

    def divided_late(self, name: str) -> None:
        """The event of a loss that was back-propagated whole, if the user's frames hold a quotient of it."""
        recorder = self._recorder
        if any(recorder.course.expected(kind) is not None for kind in STEPS) and name not in self.whole:
            return  # as in the windows before
        window, last = recorder.state.ledgers[name].window, recorder.state.last.get(name, {}).get(Kind.BACKWARD)
        self.whole.discard(name)
        if window.micro_steps < 2 or last is None:
            return
        whole = any(weight and abs(float(weight) / window.micro_steps - 1) < 1e-6 for _, weight in window.weights)
        if whole:
            self.whole.add(name)
        if whole and quotient_in(recorder.sites.frames()):
            recorder.feed(Kind.LOSS_DIVIDED, optimizer=name, stack=last.step_of_program)

    def origin(self, name: str, optimizer: Any) -> dict[str, str]:
        """`unfollowed` of a step on gradients that are there, though no backward pass was seen to leave them; `held` of
        one of which was measured that it misses nothing of its window."""
        recorder = self._recorder
        beat = next((one for kind in STEPS if (one := recorder.course.expected(kind)) is not None), None)
        if beat is not None:  # as in the windows before
            return {mark: told for mark, told in beat.detail.items() if mark in ("held", "unfollowed")}
        if recorder.state.ledgers[name].window.micro_steps:
            watch = recorder.watches[name]
            return {"held": "whole"} if watch.looks[Held.WHOLE] and not watch.erases else {}
        there = any(parameter.grad is not None for parameter in parameters_of(optimizer))
        return {"unfollowed": "yes"} if there else {}
