"""Epochs of four batches, whose losses are added up with their graphs under a key of a dictionary."""

# wrong: retained-graph
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(3, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for epoch in range(3):
    history = {"loss": 0.0, "batches": 0}
    for _ in range(4):
        loss = model(torch.randn(4, 3)).pow(2).mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history["loss"] += loss  # expect: retained-graph
        history["batches"] += 1
    print(history["loss"].item() / history["batches"])
