"""A schedule is built, logged and saved, and nobody steps it."""

# wrong: scheduler-never-stepped
import torch
from torch import nn


class Trainer:
    def __init__(self):
        torch.manual_seed(0)
        self.model = nn.Linear(4, 3)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=0.1)
        self.scheduler = torch.optim.lr_scheduler.OneCycleLR(  # expect: scheduler-never-stepped
            self.optimizer, max_lr=0.1, total_steps=8
        )

    def step(self, x, y):
        self.optimizer.zero_grad()
        loss = nn.functional.cross_entropy(self.model(x), y)
        loss.backward()
        self.optimizer.step()
        return {"loss": loss.item(), "rate": self.scheduler.get_last_lr()[0]}


trainer = Trainer()
for _ in range(8):
    print(trainer.step(torch.randn(4, 4), torch.randint(3, (4,))))
print(len(trainer.scheduler.state_dict()))
