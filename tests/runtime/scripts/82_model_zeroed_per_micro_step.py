"""model.zero_grad() inside of the micro-step's method erases what the micro-steps before it made."""
# wrong: zero-grad-per-micro-step

import torch
from torch import nn


class Loop:
    def __init__(self, window):
        self.window = window
        self.model = nn.Linear(4, 2)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def micro_step(self, x, y):
        self.model.zero_grad()  # expect: zero-grad-per-micro-step
        loss = nn.functional.cross_entropy(self.model(x), y) / self.window
        loss.backward()

    def run(self, batches):
        for number, (x, y) in enumerate(batches, start=1):
            self.micro_step(x, y)
            if number % self.window == 0:
                self.optimizer.step()


torch.manual_seed(0)
Loop(window=3).run([(torch.randn(4, 4), torch.randint(2, (4,))) for _ in range(12)])
