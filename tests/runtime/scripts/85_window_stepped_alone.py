"""Losses are divided by four, and each is zeroed, back-propagated and stepped alone: nothing accumulates."""
# wrong: step-per-micro-step

import torch
from torch import nn

torch.manual_seed(0)
accumulation_steps = 4
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(8):
    x, y = torch.randn(4, 4), torch.randint(2, (4,))
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y) / accumulation_steps
    loss.backward()
    optimizer.step()  # expect: step-per-micro-step
