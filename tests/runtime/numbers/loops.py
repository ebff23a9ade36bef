"""Small windows to measure: token losses over padded micro-batches, run under the guard."""

from __future__ import annotations

import torch
from torch import nn
from torch.nn import functional as F

from runtime_guard import guard

VALID = (2, 12, 5, 9)
TOTAL = sum(VALID)
WINDOW = len(VALID)
CLASSES, WIDTH, LENGTH = 11, 8, 12


def micro_batches(valid=VALID):
    made = []
    for seed, count in enumerate(valid):
        random = torch.Generator().manual_seed(seed)
        x = torch.randn(1, LENGTH, WIDTH, generator=random)
        y = torch.randint(0, CLASSES, (1, LENGTH), generator=random)
        y[:, count:] = -100
        made.append((x, y))
    return made


def token_loss(logits, y, **options):
    return F.cross_entropy(logits.flatten(0, 1), y.flatten(), **options)


class Run:
    """A window of a linear model, run `windows` times: what the guard measured, and the gradient of the last window."""

    def __init__(self, loss, *, scale=None, clip=None, by_hand=None, windows=1, batches=None):
        torch.manual_seed(1)
        self.model = nn.Linear(WIDTH, CLASSES)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.0)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=scale or 1.0, enabled=scale is not None)
        self.loss, self.clip, self.by_hand = loss, clip, by_hand
        self.batches = batches or micro_batches()
        with guard(mode="record") as self.guard:
            for _ in range(windows):
                self._window()
        self.numbers = self.guard.recorder.numbers
        [self.account] = [account for account in self.numbers.opened if account.lengths]

    def _window(self):
        self.optimizer.zero_grad()
        for x, y in self.batches:
            self.scaler.scale(self.loss(self.model(x), y)).backward()
            if self.clip is not None:
                nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
        if self.by_hand is not None:
            self.by_hand(self.model)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.gradient = torch.cat([parameter.grad.flatten() for parameter in self.model.parameters()])

    def last(self, figure):
        return self.account.figures[figure].last

    @property
    def codes(self):
        return {violation.code for violation in self.guard.violations}


def full_batch_gradient():
    """The gradient of the mean over all valid tokens of the window, in one batch."""
    torch.manual_seed(1)
    model = nn.Linear(WIDTH, CLASSES)
    batches = micro_batches()
    token_loss(model(torch.cat([x for x, _ in batches])), torch.cat([y for _, y in batches])).backward()
    return torch.cat([parameter.grad.flatten() for parameter in model.parameters()])
