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

The tokens of all ranks are a right divisor of a sum only where the average is made up for.

```python bad whole live-only -- two processes
import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
model = DistributedDataParallel(nn.Linear(4, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for length in range(8, 11):
    optimizer.zero_grad()
    labels = torch.full((30,), -100).index_fill(0, torch.arange(length * (dist.get_rank() + 1)), 1)
    tokens = (labels != -100).sum()
    dist.all_reduce(tokens)
    loss = F.cross_entropy(model(torch.randn(30, 4)), labels, reduction="sum") / tokens
    loss.backward()  # expect: averaged-twice-across-ranks
    optimizer.step()
dist.destroy_process_group()
```

```python good whole live-only -- two processes
import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
model = DistributedDataParallel(nn.Linear(4, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for length in range(8, 11):
    optimizer.zero_grad()
    labels = torch.full((30,), -100).index_fill(0, torch.arange(length * (dist.get_rank() + 1)), 1)
    tokens = (labels != -100).sum()
    dist.all_reduce(tokens)
    loss = F.cross_entropy(model(torch.randn(30, 4)), labels, reduction="sum") * dist.get_world_size() / tokens
    loss.backward()
    optimizer.step()
dist.destroy_process_group()
```

## What to do

Back-propagate this rank's mean as it is, and average a detached copy for the log. A sum that is divided by the tokens
of all ranks is multiplied by their number: `loss_sum * world_size / all_tokens`.

## Fix

None. The division may be there for a loss that is logged, too.

## Source

- DistributedDataParallel: gradients are averaged over the ranks
  (https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html)
- `torch/distributed/fsdp/_runtime_utils.py` of torch 2.13, `_reduce_grad`: pre- and post-division by the world size
"""

from amplint.catalogue.across_ranks import all_tokens_once, twice_words
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
    message="the loss is divided by {what}, and its gradients are averaged over the ranks once more: they are too "
    "small by the number of ranks",
    advice="{cure}",
    when=(Condition(Kind.BACKWARD, also=lambda moment: _twice(moment.event)),),
    place=Kind.BACKWARD,
    milder=hardly_felt,
    words=twice_words,
    observe=all_tokens_once,
)
