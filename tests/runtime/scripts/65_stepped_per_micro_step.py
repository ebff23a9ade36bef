"""The step stands outside of the gate that holds zero_grad: each gradient is used again and again."""
# wrong: step-per-micro-step

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
accumulate = 4
for step in range(16):
    x, y = torch.randn(4, 4), torch.randint(2, (4,))
    loss = nn.functional.cross_entropy(model(x), y) / accumulate
    loss.backward()
    optimizer.step()  # expect: step-per-micro-step
    if (step + 1) % accumulate == 0:
        optimizer.zero_grad()
