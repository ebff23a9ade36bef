"""Only the backward runs in `no_sync`: DistributedDataParallel has decided at the forward, and reduces all the same.

## What happens

The forward of DistributedDataParallel (DDP) prepares the reduction that its backward will do. A `no_sync` that is
entered afterwards comes too late: the gradients are all-reduced on every micro-step, and nothing is saved. The numbers
are right. FSDP decides at the backward: there it works.

## Why it is easy to miss

The name says what is wanted, and the loss is the same either way.

## Example

```python bad whole static-only -- needs several processes
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def train(net, loader, accum_steps):
    model = DistributedDataParallel(net)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    assert len(loader) % accum_steps == 0
    for i, (x, y) in enumerate(loader):
        loss = criterion(model(x), y) / accum_steps
        if (i + 1) % accum_steps:
            with model.no_sync():
                loss.backward()  # expect: forward-outside-no-sync
        else:
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
```

```python good whole static-only -- needs several processes
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def train(net, loader, accum_steps):
    model = DistributedDataParallel(net)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    assert len(loader) % accum_steps == 0
    for i, (x, y) in enumerate(loader):
        if (i + 1) % accum_steps:
            with model.no_sync():
                loss = criterion(model(x), y) / accum_steps
                loss.backward()
        else:
            loss = criterion(model(x), y) / accum_steps
            loss.backward()
            optimizer.step()
            optimizer.zero_grad()
```

## What to do

Begin the `no_sync` block before the forward.

## Fix

None. All of the micro-step has to go into the context, with whatever stands between.

## Source

- DistributedDataParallel, `no_sync`: "The forward pass should be included inside the context manager, or else gradients
  will still be synchronized"
  (https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html)
- `torch/nn/parallel/distributed.py` of torch 2.13, `_post_forward`; `torch/distributed/fsdp/_runtime_utils.py`,
  `_post_backward_hook`
"""

from amplint.catalogue.across_ranks import outside_words
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import Kind
from amplint.protocol.ranks import Sync

RULE = Rule(
    tier=Tier.WARNING,
    message="{held}",
    advice="{cure}",
    words=outside_words,
    when=(Condition(Kind.BACKWARD, also=lambda moment: moment.event.sync is Sync.TOO_LATE),),
)
