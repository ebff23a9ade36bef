"""Micro-batches of different size, each weighted by its share of the window."""
# right

import torch
from torch import nn

torch.manual_seed(0)
batch = torch.randn(30, 4), torch.randint(3, (30,))
model = nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    optimizer.zero_grad()
    for inputs, targets in zip(batch[0].split(8), batch[1].split(8), strict=True):
        loss = nn.functional.cross_entropy(model(inputs), targets)
        (loss * (len(targets) / len(batch[1]))).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
