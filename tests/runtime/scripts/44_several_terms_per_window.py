"""Windows flushed by a queue: a generator yields lists of micro-batches, a dictionary holds optimizer and scheduler."""
# right

import torch
from torch import nn


def queue(items, size):
    waiting = []
    for item in items:
        waiting.append(item)
        if len(waiting) == size:
            yield waiting
            waiting = []
    if waiting:
        yield waiting


torch.manual_seed(0)
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, nesterov=True, momentum=0.9)
parts = {"optimizer": optimizer, "scheduler": torch.optim.lr_scheduler.LinearLR(optimizer, total_iters=4)}
items = [(torch.randn(4, 4), torch.randint(2, (4,))) for _ in range(14)]
for window in queue(items, 4):
    losses = []
    for x, y in window:
        losses.append(nn.functional.cross_entropy(model(x), y))
    torch.stack(losses).mean().backward()
    parts["optimizer"].step()
    parts["scheduler"].step()
    parts["optimizer"].zero_grad()
