"""The last backward of a window runs in `no_sync`: its gradients are never reduced over the ranks.

## What happens

`no_sync` leaves gradients on their rank until the next backward outside of it, which reduces all that has been added
up. If the micro-step before `optimizer.step()` is inside too, every rank steps with gradients of its own: the copies of
the model drift apart from the first update on, and a checkpoint of rank 0 has seen one rank's data alone.

`require_backward_grad_sync` is read in the forward: set between forward and backward it holds for the next micro-step
only. The first one of a window is then reduced, as it was due for the last one before, and no other is.

## Why it is easy to miss

Each rank's loss goes down, and nothing compares the ranks. Often it is only the condition that is the wrong way round.

## Example

```python bad whole static-only -- needs several processes
from contextlib import nullcontext

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def train(net, loader, accum_steps):
    assert len(loader) % accum_steps == 0
    model = DistributedDataParallel(net)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for i, (x, y) in enumerate(loader):
        boundary = (i + 1) % accum_steps == 0
        with model.no_sync() if boundary else nullcontext():
            loss = criterion(model(x), y) / accum_steps
            loss.backward()  # expect: no-sync-on-boundary
        if boundary:
            optimizer.step()
            optimizer.zero_grad()
```

```python good whole static-only -- needs several processes
from contextlib import nullcontext

import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def train(net, loader, accum_steps):
    assert len(loader) % accum_steps == 0
    model = DistributedDataParallel(net)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for i, (x, y) in enumerate(loader):
        boundary = (i + 1) % accum_steps == 0
        with model.no_sync() if not boundary else nullcontext():
            loss = criterion(model(x), y) / accum_steps
            loss.backward()
        if boundary:
            optimizer.step()
            optimizer.zero_grad()
```

## Messages

- no error; "ranks diverge", "the loss differs between ranks"

## What to do

Let the last micro-step of every window, a shorter last window included, run its forward and its backward outside.

## Fix

None. The condition is the wrong one, and what it should be depends on how micro-steps are counted.

## Source

- DistributedDataParallel, `no_sync`: gradients are synchronized in the first forward-backward pass exiting the context
  (https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html)
- `torch/nn/parallel/distributed.py` of torch 2.13, `no_sync` and `_post_forward`
"""

from amplint.catalogue.across_ranks import boundary_words
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import STEPS, Kind

RULE = Rule(
    tier=Tier.ERROR,
    message="{held}, and {result}",
    advice="{cure}",
    when=(Condition(STEPS, local=True),),
    place=Kind.BACKWARD,
    because=((Kind.STEP, "each rank steps with its own gradients here"),),
    words=boundary_words,
    hides=("missing-no-sync", "forward-outside-no-sync", "ranks-disagree"),
)
