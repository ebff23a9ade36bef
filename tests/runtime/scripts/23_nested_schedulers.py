"""Schedulers that step their children: SequentialLR per update, ChainedScheduler per epoch, a plateau per epoch."""
# right

import torch
from torch import nn
from torch.optim import lr_scheduler

torch.manual_seed(0)
model = nn.Linear(4, 2)
accumulate, epochs, batches = 2, 3, 8
updates = epochs * batches // accumulate
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
warm_up = lr_scheduler.LinearLR(optimizer, start_factor=0.1, total_iters=3)
decay = lr_scheduler.CosineAnnealingLR(optimizer, T_max=updates - 3)
per_update = lr_scheduler.SequentialLR(optimizer, [warm_up, decay], milestones=[3])

other = nn.Linear(4, 2)
other_optimizer = torch.optim.SGD(other.parameters(), lr=0.1)
per_epoch = lr_scheduler.ChainedScheduler(
    [lr_scheduler.ConstantLR(other_optimizer, total_iters=1), lr_scheduler.ExponentialLR(other_optimizer, gamma=0.9)]
)
plateau = lr_scheduler.ReduceLROnPlateau(other_optimizer, patience=1)

for _ in range(epochs):
    total = 0.0
    for index in range(batches):
        x, y = torch.randn(4, 4), torch.randint(2, (4,))
        (nn.functional.cross_entropy(model(x), y) / accumulate).backward()
        loss = nn.functional.cross_entropy(other(x), y)
        loss.backward()
        other_optimizer.step()
        other_optimizer.zero_grad()
        total += loss.item()
        if (index + 1) % accumulate == 0:
            optimizer.step()
            optimizer.zero_grad()
            per_update.step()
    per_epoch.step()
    plateau.step(total / batches)
