"""An endless generator of batches and a counter of updates; the window is a `while` that pulls."""
# right

import itertools

import torch
from torch import nn


def batches(seed):
    generator = torch.Generator().manual_seed(seed)
    while True:
        inputs = torch.randn(4, 3, generator=generator)
        yield inputs, inputs.sum(dim=1, keepdim=True)


def main(total_updates=5, per_update=3):
    torch.manual_seed(0)
    stream = batches(seed=11)
    model = nn.Linear(3, 1)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=1e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=total_updates)
    for update in itertools.count(1):
        optimizer.zero_grad()
        pulled = 0
        while pulled < per_update:
            inputs, targets = next(stream)
            loss = nn.functional.huber_loss(model(inputs), targets)
            (loss / per_update).backward()
            pulled += 1
        optimizer.step()
        scheduler.step()
        if update == total_updates:
            return


main()
