"""The loss is divided by the number of ranks, and DistributedDataParallel averages its gradients once more.

## What happens

DistributedDataParallel (DDP) and FSDP divide the sum of the ranks' gradients by the number of ranks. A mean loss that
is divided by the world size before makes gradients that are too small by that factor: on eight GPUs SGD's learning rate
acts like an eighth of it, a clip threshold is never reached, and coupled (L2) weight decay has eight times its share.
An all-reduce of the loss does not change that: it carries no gradient back, so only the division is seen.

## Why it is easy to miss

The number that is logged, the mean over the ranks, is right. Adam without a clip hardly feels a constant factor:
there it is a warning.

## Example

```python bad whole static-only -- needs several processes
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def train(net, loader):
    model = DistributedDataParallel(net)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y) / dist.get_world_size()
        loss.backward()  # expect: averaged-twice-across-ranks
        optimizer.step()
```

```python good whole static-only -- needs several processes
import torch
import torch.distributed as dist
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def train(net, loader):
    model = DistributedDataParallel(net)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        shown = loss.detach() / dist.get_world_size()
        dist.all_reduce(shown)
```

A collective sums up the values of the losses alone: to the gradients the division is one too many, whoever wraps the
model.

```python bad whole static-only -- needs several processes
import torch
import torch.distributed as dist
from torch import nn


def mean_over_ranks(value, world_size):
    value = value.clone()
    dist.all_reduce(value)
    return value / world_size


def train(model, loader, optimizer, world_size):
    criterion = nn.CrossEntropyLoss()
    for x, y in loader:
        optimizer.zero_grad()
        loss = mean_over_ranks(criterion(model(x), y), world_size)
        loss.backward()  # expect: averaged-twice-across-ranks
        optimizer.step()
```

## What to do

Back-propagate this rank's mean as it is, and average a detached copy for the log.

## Fix

None. The division may be there for a loss that is logged, too.

## Source

- DistributedDataParallel: gradients are averaged over the ranks
  (https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html)
- `torch/distributed/fsdp/_runtime_utils.py` of torch 2.13, `_reduce_grad`: pre- and post-division by the world size
"""

from amplint.catalogue.felt import hardly_felt
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import Event, Kind
from amplint.protocol.ranks import Sync, Wrapper

_AVERAGING = frozenset({Wrapper.DDP, Wrapper.SHARDED, Wrapper.UNSHARDED, Wrapper.BY_PARAMETER})


def _twice(event: Event) -> bool:
    """Whether DDP or FSDP averages what was divided by the ranks; of a model of which nothing is known, somebody does
    where the loss was summed up over the ranks before."""
    known = event.wrapper in _AVERAGING and event.sync is Sync.REDUCED
    assumed = event.wrapper is Wrapper.NONE and "collected" in event.detail
    return (known or assumed) and "ranks" in event.detail


RULE = Rule(
    tier=Tier.ERROR,
    message="the mean loss is divided by `{ranks}`, and its gradients are averaged over the ranks once more: they are "
    "too small by the number of ranks",
    advice="back-propagate the loss undivided, and average a detached copy for the log",
    when=(Condition(Kind.BACKWARD, also=lambda moment: _twice(moment.event)),),
    milder=hardly_felt,
)
