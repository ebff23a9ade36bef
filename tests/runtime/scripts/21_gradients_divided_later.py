"""Losses are added whole, and the gradients are divided once at the boundary, before the clip."""
# right

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 6), nn.ReLU(), nn.Linear(6, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, weight_decay=1e-2)
accumulate = 4
for step in range(12):
    x, y = torch.randn(4, 4), torch.randint(2, (4,))
    nn.functional.cross_entropy(model(x), y).backward()
    if (step + 1) % accumulate == 0:
        for p in model.parameters():
            p.grad.div_(accumulate)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
