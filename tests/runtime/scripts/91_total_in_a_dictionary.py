"""Epochs of four batches, whose losses are added up with their graphs under a key of a dictionary, and collected under
another one by a method."""

# wrong: retained-graph
from collections import defaultdict

import torch
from torch import nn


class Trainer:
    def __init__(self):
        torch.manual_seed(0)
        self.model = nn.Linear(3, 1)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)
        self.history = {"rate": [], "loss": []}

    def step(self, x):
        loss = self.model(x).pow(2).mean()
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        self.history["rate"].append(self.optimizer.param_groups[0]["lr"])
        self.history["loss"].append(loss)  # expect: retained-graph
        return loss


trainer = Trainer()
for epoch in range(3):
    epoch_totals = defaultdict(float)
    for _ in range(4):
        for name, value in {"batches": 1, "loss": trainer.step(torch.randn(4, 3))}.items():
            epoch_totals[name] += value  # expect: retained-graph
    print(epoch_totals["loss"].item() / epoch_totals["batches"])
