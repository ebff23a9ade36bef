"""A Trainer class in float32 that adds whole losses; the clip makes the tail of it worse."""
# wrong: missing-loss-division

import torch
from torch import nn


class Trainer:
    def __init__(self, model, accumulate):
        self.model, self.accumulate = model, accumulate
        self.criterion = nn.MSELoss()
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)

    def micro_step(self, x, y):
        loss = self.criterion(self.model(x), y)
        loss.backward()  # expect: missing-loss-division
        return loss.item()

    def fit(self, loader):
        for index, (x, y) in enumerate(loader):
            self.micro_step(x, y)
            if (index + 1) % self.accumulate == 0:
                nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
                self.optimizer.step()
                self.optimizer.zero_grad()


torch.manual_seed(0)
Trainer(nn.Linear(4, 1), accumulate=4).fit([(torch.randn(8, 4), torch.randn(8, 1)) for _ in range(12)])
