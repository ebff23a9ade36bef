"""A flag computed at the top says which micro-steps go on; it is open on the very first one."""
# wrong: early-first-window

import torch
from torch import nn


class Loop:
    def __init__(self, accumulate):
        self.accumulate = accumulate
        self.model = nn.Linear(4, 2)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def run(self, batches):
        for index, (x, y) in enumerate(batches):
            full = index % self.accumulate == 0
            loss = nn.functional.cross_entropy(self.model(x), y) / self.accumulate
            loss.backward()
            if not full:  # expect: early-first-window
                continue
            self.optimizer.step()
            self.optimizer.zero_grad()


torch.manual_seed(0)
Loop(4).run([(torch.randn(4, 4), torch.randint(2, (4,))) for _ in range(9)])
