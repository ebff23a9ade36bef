"""The loss is divided by the position in the window, not by the window's length."""
# wrong: wrong-loss-divisor

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
accumulate = 4
for step in range(12):
    x, y = torch.randn(4, 4), torch.randint(2, (4,))
    loss = nn.functional.cross_entropy(model(x), y) / (step % accumulate + 1)
    loss.backward()  # expect: wrong-loss-divisor
    if (step + 1) % accumulate == 0:
        optimizer.step()
        optimizer.zero_grad()
