from torch import nn

from loops import Loop


class TextLoop(Loop[nn.Module]):
    def train_step(self, x, y):
        loss = self.criterion(self.model(x).flatten(0, 1), y.flatten())
        (loss / self.window).backward()
        self._finish()  # expect: misnormalized-tail-window
