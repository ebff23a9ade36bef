"""Gradients are all-reduced on every micro-step of a window, though only its end needs it.

## What happens

DistributedDataParallel (DDP) all-reduces all gradients at every backward. In a window of N micro-steps N - 1 of these
are waste: the sum that the optimizer uses is the same, and N times as many bytes cross the network. The numbers do not
change; with four micro-batches three quarters of the communication go away.

## Why it is easy to miss

Nothing is wrong but the time, and on one machine with a fast link it hardly shows.

## Example

```python bad whole static-only -- needs several processes
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def train(net, loader, accum_steps):
    assert len(loader) % accum_steps == 0
    model = DistributedDataParallel(net)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for i, (x, y) in enumerate(loader):
        loss = criterion(model(x), y) / accum_steps
        loss.backward()  # expect: missing-no-sync
        if (i + 1) % accum_steps == 0:
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
        with nullcontext() if boundary else model.no_sync():
            loss = criterion(model(x), y) / accum_steps
            loss.backward()
        if boundary:
            optimizer.step()
            optimizer.zero_grad()
```

Gradients that the program reduces itself need it once, too:

```python bad whole static-only -- needs several processes
import torch
import torch.distributed as dist
from torch import nn


def train(model, loader, accum_steps):
    assert len(loader) % accum_steps == 0
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for i, (x, y) in enumerate(loader):
        loss = criterion(model(x), y) / accum_steps
        loss.backward()  # expect: missing-no-sync
        for p in model.parameters():
            dist.all_reduce(p.grad, op=dist.ReduceOp.AVG)
        if (i + 1) % accum_steps == 0:
            optimizer.step()
            optimizer.zero_grad()
```

```python good whole static-only -- needs several processes
import torch
import torch.distributed as dist
from torch import nn


def train(model, loader, accum_steps):
    assert len(loader) % accum_steps == 0
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for i, (x, y) in enumerate(loader):
        loss = criterion(model(x), y) / accum_steps
        loss.backward()
        if (i + 1) % accum_steps == 0:
            for p in model.parameters():
                dist.all_reduce(p.grad, op=dist.ReduceOp.AVG)
            optimizer.step()
            optimizer.zero_grad()
```

## What to do

Run forward and backward of every micro-step but the last one in `model.no_sync()`, or set
`model.require_backward_grad_sync` before the forward. A last window that is shorter has to end outside too. Where the
program reduces the gradients itself, it does so before the step, under the condition of the step: a sum over the ranks
on every micro-step adds up again what it has summed before, an average is right and N times as slow. For FSDP it is a
choice: there `no_sync` keeps whole gradients on every rank, which needs memory.

## Fix

None. The forward and the backward of each micro-step have to go into a context that depends on the window; and
FSDP then keeps whole gradients, which costs memory.

## Source

- DistributedDataParallel, `no_sync`
  (https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html)
- `torch/nn/parallel/distributed.py` of torch 2.13, `no_sync` and `_post_forward`
"""

from amplint.catalogue.amounts import at_least
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import STEPS, Kind
from amplint.protocol.ranks import Sync
from amplint.protocol.state import Moment


def _waste(moment: Moment) -> dict[str, str]:
    """What comes of the reductions, and what to do: those that the program makes itself can wait for a condition."""
    if moment.ledger.sharing.by_hand > 1:
        return {
            "waste": "all but the last are waste, and a sum counts what it has summed before again",
            "cure": "reduce them under the condition of the step, before it",
        }
    return {
        "waste": "the numbers are right, the rest of the communication is waste",
        "cure": "run all micro-steps but the last of each window in `model.no_sync()`, forward and backward",
    }


def _foreseen(moment: Moment) -> bool:
    """Whether it is known at the forward that the window ends: not where the batches themselves decide."""
    gate = moment.event.gate or moment.ledger.window.gate
    return gate is None or gate.length is not None


RULE = Rule(
    tier=Tier.WARNING,
    message="gradients are all-reduced over the ranks on every micro-step, though they are used once per window: "
    "{waste}",
    advice="{cure}",
    when=(
        Condition(STEPS, reductions=at_least(2), also=_foreseen),
        Condition(STEPS, by_hand=at_least(2), also=_foreseen),
    ),
    words=_waste,
    place=Kind.BACKWARD,
    because=((Kind.STEP, "the window is stepped here"),),
    refuted_by=lambda event: event.sync in (Sync.LOCAL, Sync.TOO_LATE),
)
