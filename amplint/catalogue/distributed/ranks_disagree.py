"""Ranks that train one model together step at different times, skip different steps, or go on at different rates.

## What happens

DistributedDataParallel averages the gradients of each backward, so the ranks' weights stay equal as long as every
rank does the same with them. A rank that steps one micro-batch earlier, or skips a step that the others take, has
other weights from then on, and nothing ever brings them together again: gradients that belong to different weights
are averaged. So has a rank whose learning rate is another one, where rank 0 alone steps the scheduler.

## Why it is easy to miss

The backward passes still meet, so nothing hangs. The losses differ a little between the ranks, as they do anyway, and
only rank 0 logs and saves.

## Example

```python bad whole live-only -- two processes
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
model = DistributedDataParallel(nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
samples = 0
for _ in range(24):
    batch = torch.randn(int(torch.randint(1, 9, ())), 4)
    (model(batch).square().sum() / 16).backward()
    samples += len(batch)
    if samples >= 16:
        optimizer.step()  # expect: ranks-disagree
        optimizer.zero_grad()
        samples = 0
dist.destroy_process_group()
```

The count that decides is the same on every rank:

```python good whole live-only -- two processes
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
torch.manual_seed(dist.get_rank())
model = DistributedDataParallel(nn.Linear(4, 1))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
samples = torch.zeros(())
for _ in range(24):
    batch = torch.randn(int(torch.randint(1, 9, ())), 4)
    (model(batch).square().sum() / 16).backward()
    here = torch.tensor(float(len(batch)))
    dist.all_reduce(here)
    samples += here
    if samples >= 32:
        optimizer.step()
        optimizer.zero_grad()
        samples.zero_()
dist.destroy_process_group()
```

A schedule moves the rate of its own process only:

```python bad whole static-only -- several processes
import torch
from torch.nn.parallel import DistributedDataParallel

def train(net, criterion, loader, rank, epochs):
    model = DistributedDataParallel(net, device_ids=[rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    decay = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    for epoch in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            optimizer.step()
        if rank == 0:
            decay.step()  # expect: ranks-disagree
```

```python good whole static-only -- several processes
import torch
from torch.nn.parallel import DistributedDataParallel

def train(net, criterion, loader, rank, epochs):
    model = DistributedDataParallel(net, device_ids=[rank])
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    decay = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, epochs)
    for epoch in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            criterion(model(x), y).backward()
            optimizer.step()
        decay.step()
        if rank == 0:
            print(epoch, decay.get_last_lr())
```

## What to do

Decide by what every rank knows: the index of the micro-batch, or a number that was all-reduced. A condition on this
rank's loss, tokens, clock or overflow has to be shared first. A GradScaler keeps its state per process: the ranks agree
on what is skipped only where the gradients that it looks at are all-reduced ones. Let a sampler or `drop_last` give
each rank as many batches as the others have. Step the scheduler on every rank, one that is told a metric with a metric
that all of them have.

Before the program runs, only a scheduler is seen that some ranks step although all of them step its optimizer.

## Fix

None. What it needs depends on its cause, which may be anywhere.

## Source

- DistributedDataParallel assumes that "the parameters of the model" are changed alike in every process
  (https://docs.pytorch.org/docs/stable/notes/ddp.html#internal-design)
- GradScaler keeps `found_inf` of this process's gradients alone
  (https://github.com/pytorch/pytorch/blob/v2.13.0/torch/amp/grad_scaler.py)
"""

from amplint.catalogue.across_ranks import disagreement
from amplint.catalogue.rule import Rule, Tier
from amplint.catalogue.some_ranks import done_by_some

RULE = Rule(
    tier=Tier.ERROR,
    message="the ranks disagree: {what}; from then on their weights differ, and gradients of different weights are "
    "averaged",
    advice="{remedy}",
    observe=disagreement,
    compare=done_by_some,
)
