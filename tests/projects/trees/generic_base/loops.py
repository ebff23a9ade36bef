"""What drives the training of whoever derives from it; the window may be over with the last batch of all."""

from abc import abstractmethod
from typing import Generic, TypeVar

from torch import nn

M = TypeVar("M", bound=nn.Module)


class Loop(Generic[M]):
    def __init__(self, model: M, optim, criterion, loader, epochs, window):
        self.model, self.optim, self.criterion, self.loader = model, optim, criterion, loader
        self.window, self.epochs = window, epochs
        self.total = epochs * len(loader)
        self._done = 0

    @abstractmethod
    def train_step(self, x, y):
        pass

    def _finish(self):
        if (self._done + 1) % self.window != 0 and self._done + 1 < self.total:
            return
        self.optim.step()
        self.optim.zero_grad()

    def _on_end(self):
        print(self._done)
        print(self.epochs)
        self._done += 1

    def run(self):
        for _ in range(self.epochs):
            self.epoch()

    def epoch(self):
        for x, y in self.loader:
            self.train_step(x, y)
            self._on_end()
