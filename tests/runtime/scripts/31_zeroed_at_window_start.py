"""Gradients are zeroed on the first micro-step of a window, the division is in place."""
# right

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, total_steps=6)
steps = 3
for _epoch in range(2):
    for index in range(9):
        if index % steps == 0:
            optimizer.zero_grad()
        x, y = torch.randn(4, 4), torch.randint(2, (4,))
        loss = nn.functional.cross_entropy(model(x), y)
        loss /= steps
        loss.backward()
        if index % steps == steps - 1:
            optimizer.step()
            scheduler.step()
