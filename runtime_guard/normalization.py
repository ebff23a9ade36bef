"""The weight of every loss in every window, measured in the running process.

Three witnesses, each says which it is:

* *the graph*: a pre-hook on the autograd node of each reduction receives d(loss that is back-propagated) / d(this
  criterion). Everything that stands between the criterion and `backward()` is in it.
* *arithmetic*: the numbers that the code multiplied and divided by, as the graph keeps them.
* *the gradient ledger*: the multiplier that the optimizer really got (`gradient_ledger`).

Nothing here makes the host wait for a device. Numbers of CPU tensors are read at once; those of a device are sent off
at the step (`late`) and come back in `settled`.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Hashable, Sequence
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

import torch
from torch import Tensor
from torch.optim import Optimizer

from amplint.protocol.readings import ScaleReading, WindowReading
from runtime_guard.gradient_ledger import GradientLedger, Living
from runtime_guard.held import Held
from runtime_guard.late import capturing, learning_rate, number, tensors_in
from runtime_guard.loss_graph import Found, mark_scale, reductions_of
from runtime_guard.present import Scale
from runtime_guard.roles import together
from runtime_guard.scales import Scales
from runtime_guard.terms import Listening, listen, scaled_of, weight_of
from runtime_guard.ways import ANEW, Loss, Outcome, Way, Ways
from runtime_guard.windows import Account, Settled, Waiting

IN_FLIGHT = 256


UNREAD = Outcome((), None, None, None, None, host=True)
REDUCED = "gradients that the program reduces over the ranks itself: whether it averages them is not judged"


@dataclass
class _Pass:
    """The backward that is running, listened to. `loss`: its numbers, where the way that it goes is known."""

    found: Found
    listening: Listening
    way: Way | None = None
    loss: Loss | None = None


class Here(threading.local):
    """The backward of a thread, and the accounts whose gradients are followed through it."""

    running: _Pass | Outcome | None = None
    followed: Sequence[Account] = ()


@dataclass
class Normalization:
    """The windows of every optimizer, as measured.

    `probe_every`: after the first few windows, the ledger follows one window in so many, and the numbers of one in so
    many are fetched from a device. `accumulation_steps`: what the user said that a window holds.
    """

    probe_every: int = 16
    accumulation_steps: int | None = None
    accounts: WeakKeyDictionary[Optimizer, Account] = field(default_factory=WeakKeyDictionary)
    opened: list[Account] = field(default_factory=list)
    scales: Scales = field(default_factory=Scales)
    not_covered: dict[str, None] = field(default_factory=dict)
    lost: int = 0
    number: Callable[[Optimizer], int | None] = lambda _: None
    ways: Ways = field(default_factory=Ways)
    recognized: tuple[Way, Loss, Outcome] | None = None
    _here: Here = field(default_factory=Here)
    _waiting: list[Waiting] = field(default_factory=list)
    _present: list[Account] = field(default_factory=list)
    _known_then: int = 0

    def track(self, optimizer: Optimizer) -> Account:
        """The account of an optimizer, opened when it is first seen."""
        known = self.accounts.get(optimizer)
        if known is None:
            name = f"{type(optimizer).__name__}#{self.number(optimizer) or len(self.opened) + 1}"
            known = self.accounts[optimizer] = Account(name, GradientLedger(Living(optimizer)), self.accumulation_steps)
            self.opened.append(known)
        return known

    def shares(self, optimizer: Optimizer, other: Optimizer) -> None:
        """To be told that an optimizer steps the same parameters as another one: their windows are the same."""
        account = self.accounts[optimizer] = self.track(other)
        account.ledger.optimizer.add(optimizer)
        kinds, _, number = account.name.rpartition("#")
        account.name = f"{together(kinds, type(optimizer).__name__)}#{number}"

    def _open(self) -> list[Account]:
        """The accounts of the optimizers that live. Listed anew when one was opened or has gone: a weak dictionary is
        slow to go through."""
        if self._known_then != len(self.accounts):
            self._known_then = len(self.accounts)
            self._present = list({id(account): account for account in self.accounts.values()}.values())
        return self._present

    def note_scale(self, scaler: torch.amp.GradScaler, outputs: object) -> None:
        """Remembers with the graph that an enabled scaler has scaled something."""
        known = self.scales.of_now(scaler)
        for tensor in tensors_in(outputs):
            mark_scale(tensor, known)

    def before_backward(
        self,
        tensors: Sequence[Tensor],
        place: Hashable = None,
        start: float | None = None,
        strangers: Collection[Optimizer] = (),
        present: tuple[Scale, ...] = (),
        through: bool = False,
    ) -> None:
        """Listens to the reductions of what is about to be back-propagated.

        `place` tells backward passes of one micro-step apart. `start`: the gradient that it begins with, if the host
        knows it and there is but one. `strangers`: optimizers of other threads, which may be changing their gradients.
        `present`: the scales that it may be multiplied by without a scaler. `through`: a framework back-propagates.
        """
        self._here.running, self._here.followed, self.recognized = None, (), None
        if capturing():
            self.not_covered["a CUDA graph: what is replayed is not seen"] = None
            return
        accounts = self._open()
        known = self._known(tensors, place, start, accounts, present)
        self._here.running = known or self._heard(tensors, place, start, accounts, present)
        mine = [one for one in accounts if one.ledger.optimizer() not in strangers] if strangers else accounts
        self._here.followed = mine
        for account in mine:
            if account.follows(self.probe_every):
                account.ledger.before_backward(through)

    def _known(
        self,
        tensors: Sequence[Tensor],
        place: Hashable,
        start: float | None,
        accounts: Sequence[Account],
        present: tuple[Scale, ...],
    ) -> Outcome | None:
        """What will come of a loss that is like an earlier one. It is heard where numbers of a device are fetched."""
        way = self.ways.of(place) if len(tensors) == 1 else None
        if way is None or (way.on_device and any(account.probed(self.probe_every) for account in accounts)):
            return None
        way.passes += 1
        loss = way.loss(tensors[0], start) if way.passes < ANEW else None
        if loss is not None and any(scale.number in way.numbers(loss.values) for scale in present):
            return None
        outcome = way.outcome(loss) if loss is not None else None
        if loss is not None and outcome is not None:
            self.recognized = way, loss, outcome
        return outcome

    def runs_again(self, recognized: tuple[Way, Loss, Outcome], root: Tensor, start: float | None) -> bool:
        """Whether what is about to be back-propagated has the very numbers of a loss that was recognized."""
        way, loss, _ = recognized
        return way.loss(root, start) == loss

    def goes_again(self, recognized: tuple[Way, Loss, Outcome]) -> None:
        """It is back-propagated."""
        way, _, self._here.running = recognized
        way.passes += 1

    def ran_again(self, accounts: Sequence[Account], outcome: Outcome, begins_micro_step: bool) -> None:
        """Enters such a pass. The ledger follows none of these windows."""
        for account in accounts:
            account.window.add(outcome, begins_micro_step)

    def fresh(self) -> bool:
        """Whether no window has begun."""
        return not any(account.window.steps for account in self._open())

    def unfollowed(self, most: int) -> int:
        """How many windows, at most so many, may come before one that is to be followed."""
        steady = [account for account in self._open() if account.steady]
        return min([most, *(account.unfollowed(self.probe_every, most) for account in steady)])

    def steady(self, begun: bool) -> None:
        """To be told that windows like those since it was last told come again, or do so no longer; of all optimizers,
        since one may have gone by now."""
        for account in self.opened:
            account.becomes(begun)
        for scale in self.scales.opened:
            scale.becomes()

    def repeated(self, periods: int, unread: int = 0) -> None:
        """Enters so many periods like the one between the two last times that `steady` was told, and so many of which
        the numbers were not read."""
        for account in self.opened:
            account.repeated(periods, unread)
        for scale in self.scales.opened:
            scale.repeated(periods + unread)

    def _heard(
        self,
        tensors: Sequence[Tensor],
        place: Hashable,
        start: float | None,
        accounts: Sequence[Account],
        present: tuple[Scale, ...],
    ) -> _Pass:
        """A loss that is walked in full and listened to."""
        found = reductions_of(tensors, present, start)
        look = all(account.probed(self.probe_every) for account in accounts)
        running = _Pass(found, listen(found, look))
        if len(tensors) == 1 and place is not None and (start is not None or not tensors[0].is_cpu):
            running.way = self.ways.learn(place, tensors[0], found.reductions)
            if running.way is not None:
                running.way.passes = 0
            running.loss = running.way.loss(tensors[0], start) if running.way is not None else None
        return running

    def after_backward(
        self, reached: Sequence[Optimizer], begins_micro_step: bool = True, place: Hashable = None
    ) -> Outcome:
        """The reading of the backward that has just ended, entered for the optimizers that it reached."""
        running, self._here.running = self._here.running, None
        for account in self._here.followed:
            account.ledger.over(any(self.accounts.get(one) is account for one in reached))
        if running is None:
            return UNREAD
        outcome = running if isinstance(running, Outcome) else self._ended(running, place)
        for optimizer in reached:
            account = self.track(optimizer)
            account.window.add(outcome, begins_micro_step)
            if account.follows(self.probe_every):
                account.ledger.after_backward(outcome.carried, outcome.share, begins_micro_step)
        return outcome

    def _ended(self, running: _Pass, place: Hashable) -> Outcome:
        """What was heard, and remembered for losses like this one."""
        terms = running.listening.ended(place)
        opaque = running.found.opaque
        self.not_covered.update(dict.fromkeys(opaque))
        way, loss, like = running.way, running.loss, None
        if way is not None and loss is not None and len(terms) == 1:
            like = way.expected(loss, terms[0])
            if like is None:
                self.ways.forget(place)
            elif like.host:
                return like
        main = terms[0] if len(terms) == 1 else max(terms, key=lambda term: abs(term.told or 0.0), default=None)
        carried, share = (None, None) if main is None else (main.carried, main.share)
        host = not any(isinstance(value, Tensor) for term in terms for value in term.numbers)
        weight, scaled = weight_of(terms, running.found), scaled_of(terms)
        return Outcome(terms, carried, share, weight, scaled, host, like is not None, opaque, like)

    def failed(self) -> None:
        """The backward that was listened to has raised."""
        for account in self._here.followed:
            account.ledger.over(False)

    def before_touch(self, optimizer: Optimizer | None = None) -> None:
        """To be called before something that may change gradients (None: of any optimizer)."""
        self._look(optimizer, None)

    def by_hand(self, optimizer: Optimizer) -> float | None:
        """What all gradients of an optimizer were multiplied by since they were looked at, if it is one number."""
        account = self.accounts.get(optimizer)
        return account.ledger.factor() if account is not None and account.follows(self.probe_every) else None

    def measured_again(self, optimizer: Optimizer) -> None:
        """To be called after a step that has changed the gradients before it used them."""
        account = self.track(optimizer)
        if account.follows(self.probe_every):
            account.ledger.look("code in the step")
            account.measure = account.ledger.close()

    def follows(self, optimizer: Optimizer) -> bool:
        """Whether the ledger follows the present window of an optimizer."""
        account = self.accounts.get(optimizer)
        return account is not None and account.follows(self.probe_every)

    def edited(self, optimizer: Optimizer) -> bool:
        """Whether gradients were changed since they were looked at, and no version shows it; on the CPU only."""
        account = self.accounts.get(optimizer)
        return account is not None and account.follows(self.probe_every) and account.ledger.altered()

    def after_touch(self, optimizer: Optimizer | None, what: str) -> None:
        """To be called after it: what has changed is put down to `what`, such as "clip"."""
        self._look(optimizer, what)

    def erased(self, optimizer: Optimizer) -> None:
        """The gradients were zeroed or dropped: the window begins again."""
        if optimizer in self.accounts:
            self.accounts[optimizer].forget()

    def at_step(self, optimizer: Optimizer, token: object = None) -> WindowReading:
        """The reading of the window that this step ends.

        What is still on a device is None in it; the whole reading comes with `token` from `settled`.
        """
        return self.track(optimizer).at_step(token)

    def known(self, optimizer: Optimizer) -> bool:
        """Whether the multiplier that an optimizer really got was measured."""
        account = self.accounts.get(optimizer)
        figure = account.figures.get("multiplier_by_ledger") if account is not None else None
        return figure is not None and figure.count > 0

    def divided(self, optimizer: Optimizer, by: float) -> None:
        """To be told that the gradients of the open window were divided below their criteria."""
        account = self.track(optimizer)
        account.window.divided(by)
        account.ledger.divided(by)

    def shortened(self, optimizer: Optimizer) -> int:
        """To be told that the open window was erased but for its last micro-steps: so many, as measured."""
        account, kept = self.track(optimizer), self.track(optimizer).ledger.kept
        account.window.steps, account.window.alike = account.window.steps[-kept:], None
        return kept

    def reduced(self, handed: Tensor) -> None:
        """To be told that the program reduces a tensor, perhaps a gradient, over the ranks."""
        found = [account.ledger.reduced(handed) for account in self._open()]
        self.not_covered.update({REDUCED: None} if any(found) else {})

    def closing(self, optimizer: Optimizer, shared: bool = False) -> Held | None:
        """To be called when the optimizer is about to use the gradients: after the scaler has unscaled them. `shared`:
        what has changed them since is perhaps their mean over the ranks. What is stepped of the window, if that was
        looked at apart."""
        account = self.track(optimizer)
        if account.follows(self.probe_every):
            if shared:
                account.ledger.share()
            account.ledger.look("unscale" if account.window.scaled else "code before the step")
            account.measure = account.ledger.close()
        account.note("learning_rate", learning_rate(optimizer))
        return account.ledger.held if account.follows(self.probe_every) else None

    def closed(self, optimizer: Optimizer, skipped: bool = False) -> None:
        """The window has ended: the optimizer has stepped, or the scaler has skipped the step."""
        self.over(self.track(optimizer), skipped)

    def over(self, account: Account, skipped: bool = False) -> None:
        """The same, of an account."""
        waiting = account.close(skipped)
        probed = account.probed(self.probe_every)
        account.forget()
        account.number += 1
        if probed or not waiting.window.on_device:
            self._waiting.append(waiting.sent())
            self._settle(wait=False)

    def scaler_stepped(self, scaler: torch.amp.GradScaler, skipped: bool | None) -> None:
        """Counts a step through an enabled scaler; None when a fused optimizer decides by itself."""
        self.scales.stepped(scaler, skipped)

    def at_update(self, scaler: torch.amp.GradScaler) -> ScaleReading:
        """The reading after `scaler.update()`."""
        return self.scales.of(scaler).updated(scaler._scale, self.probe_every)

    def loss_scale(self, optimizer: Optimizer) -> float | None:
        """The loss scale that the open window's gradients carry, if the host knows it."""
        account = self.accounts.get(optimizer)
        return account.window.loss_scale if account is not None else None

    def gradient_norm(self, optimizer: Optimizer, norm: object, scaled: bool = False) -> None:
        """Takes the norm that a clip has returned, if it is on the host; without the scale that gradients carry."""
        value = number(norm) if isinstance(norm, Tensor) and norm.numel() == 1 else None
        if isinstance(value, float):
            self.track(optimizer).note_norm(value, scaled)

    def settle(self, wait: bool = True) -> None:
        """Enters what has arrived; `wait`: for what is on its way too, as at the end of a run."""
        self._settle(wait)
        for scale in self.scales.opened:
            scale.settle(wait)

    def settled(self, wait: bool = False) -> list[Settled]:
        """The readings that were not whole at their step and now are, each with its token; each only once."""
        self._settle(wait)
        found = [pair for account in self.opened for pair in account.settled]
        for account in self.opened:
            account.settled.clear()
        return found

    def _settle(self, wait: bool) -> None:
        """Enters what has arrived, in order. When the device is far behind, the oldest is let go."""
        while self._waiting and (wait or self._waiting[0].arrived):
            self._waiting.pop(0).enter()
        while len(self._waiting) > IN_FLIGHT:
            self._waiting.pop(0)
            self.lost += 1

    def _look(self, optimizer: Optimizer | None, what: str | None) -> None:
        accounts = self._open() if optimizer is None else [self.track(optimizer)]
        for account in accounts:
            if account.follows(self.probe_every):
                account.ledger.look(what or "code between the backward passes")
