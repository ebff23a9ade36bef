"""The backward runs inside the autocast region, through a Trainer's method."""
# wrong: backward-in-autocast

import torch
from torch import nn


class Trainer:
    def __init__(self):
        self.model = nn.Linear(4, 2)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=64.0)

    def train_step(self, x, y):
        self.optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            loss = nn.functional.cross_entropy(self.model(x), y)
            self.scaler.scale(loss).backward()  # expect: backward-in-autocast
        self.scaler.step(self.optimizer)
        self.scaler.update()


torch.manual_seed(0)
trainer = Trainer()
for _ in range(4):
    trainer.train_step(torch.randn(4, 4), torch.randint(2, (4,)))
