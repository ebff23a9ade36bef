"""An FSDP1 model is trained with a plain GradScaler: the ranks disagree about the steps that are skipped.

## What happens

`GradScaler` looks for inf and NaN among the gradients that it is given. With FullyShardedDataParallel (FSDP1) these are
this rank's shards: the rank that holds the overflow skips its step and halves its scale, the others step. From then on
the shards of one model are of different updates, and the loss is scaled by another factor on each rank while its
gradients are reduced into one sum. Gradients in float16 (`MixedPrecision`) raise "Attempting to unscale FP16
gradients."

## Why it is easy to miss

It needs an overflow on some ranks only, and shows as a loss that is a little worse from then on.

## Example

```python bad whole static-only -- needs several processes
import torch
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel


def train(net, loader):
    model = FullyShardedDataParallel(net)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = torch.amp.GradScaler()  # expect: fsdp-plain-scaler
    for x, y in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
```

```python good whole static-only -- needs several processes
import torch
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel
from torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler


def train(net, loader):
    model = FullyShardedDataParallel(net)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = ShardedGradScaler()
    for x, y in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(model(x), y)
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
```

A constructor that has chosen the sharded scaler is undone by a method that makes a plain one afterwards:

```python bad whole static-only -- needs several processes
import torch
from torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler


class Trainer:
    def __init__(self, model, sharded):
        self.model, self.scaler = model, torch.amp.GradScaler()
        if sharded:
            self.scaler = ShardedGradScaler()

    def fit(self, loader, optimizer, init_scale=None):
        if init_scale is not None:
            self.scaler = torch.amp.GradScaler(init_scale=init_scale)  # expect: fsdp-plain-scaler
        for x in loader:
            optimizer.zero_grad()
            self.scaler.scale(self.model(x).loss).backward()
            self.scaler.step(optimizer)
            self.scaler.update()
```

## Messages

- "Attempting to unscale FP16 gradients."

## What to do

Use `torch.distributed.fsdp.sharded_grad_scaler.ShardedGradScaler`, which reduces what it finds over the ranks. With
`fully_shard` (FSDP2) the plain scaler is right, and so it is with `ShardingStrategy.NO_SHARD`.

## Fix

None. The scaler for shards is another class, which has to be imported, and may be made by code that serves
other models too.

## Source

- `torch/distributed/fsdp/sharded_grad_scaler.py` of torch 2.13, `unscale_`: `found_inf` is all-reduced
  (https://github.com/pytorch/pytorch/blob/main/torch/distributed/fsdp/sharded_grad_scaler.py)
"""

from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import Kind
from amplint.protocol.facts import REPLACED, Fact
from amplint.protocol.ranks import Wrapper


def _replaced(fact: Fact) -> dict[str, str] | None:
    return {} if fact.called == REPLACED else None


RULE = Rule(
    tier=Tier.ERROR,
    message="a plain GradScaler sees this rank's shards alone: after an overflow some ranks skip the step and halve "
    "the scale, the others do not",
    advice="use `torch.distributed.fsdp.sharded_grad_scaler.ShardedGradScaler`",
    when=(
        Condition(
            Kind.SCALER_STEP,
            wrapper=Wrapper.SHARDED,
            also=lambda moment: "ranks" in moment.event.detail and bool(moment.event.scaler),
        ),
    ),
    find=_replaced,
    place=Kind.SCALER_CREATED,
    because=((Kind.BACKWARD, "the loss of a model that is sharded is back-propagated here"),),
)
