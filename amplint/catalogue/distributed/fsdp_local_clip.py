"""torch's clip is given the parameters of an FSDP1 model: each rank clips by the norm of its own shards.

## What happens

FullyShardedDataParallel (FSDP1) leaves each rank a shard of every gradient. `torch.nn.utils.clip_grad_norm_` computes
the norm of what it is given: that of the shards here, about a factor of the square root of the number of ranks too
small, and another one on every rank. A gradient of norm 4 on 16 ranks looks like one of norm 1, is not clipped at 1,
and where it is, each rank scales its part of the same tensor by a factor of its own: its direction changes.

## Why it is easy to miss

It is the line that is right for one process and for DistributedDataParallel, and it raises nothing.

## Example

```python bad whole static-only -- needs several processes
import torch
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel


def train(net, loader):
    model = FullyShardedDataParallel(net)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters())
    for x, y in loader:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # expect: fsdp-local-clip
        optimizer.step()
```

```python good whole static-only -- needs several processes
import torch
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel


def train(net, loader):
    model = FullyShardedDataParallel(net)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters())
    for x, y in loader:
        optimizer.zero_grad()
        criterion(model(x), y).backward()
        model.clip_grad_norm_(1.0)
        optimizer.step()
```

Whoever gathers the shards of a model's optimizer knows that the model is sharded, wherever it was wrapped; so does a
class that asks its model's modules whether they are FullyShardedDataParallel:

```python bad whole static-only -- needs several processes
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP


def save_optimizer(optimizer, fsdp_model=None):
    return FSDP.full_optim_state_dict(fsdp_model, optimizer) if fsdp_model is not None else optimizer.state_dict()


def train(models, loader, optimizer, config):
    for x in loader:
        optimizer.zero_grad()
        models.net(x).loss.backward()
        nn.utils.clip_grad_norm_(models.net.parameters(), 1.0)  # expect: fsdp-local-clip
        optimizer.step()
    return save_optimizer(optimizer, fsdp_model=models.net if config.use_fsdp else None)
```

## What to do

Call `clip_grad_norm_` of the outermost wrapped model. With `ShardingStrategy.NO_SHARD`, and with `fully_shard` (FSDP2),
whose parameters are DTensors, torch's function is right.

## Fix

Safe: calls the model's own clip. The norm is then that of all gradients, as the threshold says. The numbers of a run
that was tuned with the mistake in it change.

## Source

- FullyShardedDataParallel, `clip_grad_norm_`
  (https://docs.pytorch.org/docs/stable/fsdp.html#torch.distributed.fsdp.FullyShardedDataParallel.clip_grad_norm_)
- `torch/distributed/fsdp/fully_sharded_data_parallel.py` of torch 2.13
"""

from amplint.catalogue.remedy import ByModel, safe
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import Kind
from amplint.protocol.facts import SHARDED_CLIP, Fact
from amplint.protocol.ranks import Wrapper


def _of_a_sharded_model(fact: Fact) -> dict[str, str] | None:
    return {} if fact.called == SHARDED_CLIP else None


RULE = Rule(
    tier=Tier.ERROR,
    message="gradients are clipped by the norm of this rank's shards alone: it is too small, and each rank scales its "
    "part of the same gradient by another factor",
    advice="call `clip_grad_norm_` of the wrapped model itself",
    when=(
        Condition(
            Kind.CLIP,
            also=lambda moment: moment.event.wrapper is Wrapper.SHARDED,
        ),
    ),
    find=_of_a_sharded_model,
    remedy=safe(
        "clip by the norm of all shards",
        ByModel(),
    ),
)
