"""The loss is divided by this rank's number of tokens, and the ranks are then averaged as if all had as many.

## What happens

Each rank makes the mean over its own tokens. DistributedDataParallel averages these means: a token on a rank with few
tokens weighs more than one on a rank with many. With 100 and 400 tokens on two ranks it is four times as much. The
gradient is not that of the mean over all tokens, and changes with the way in which the data is dealt out.

## Why it is easy to miss

On one device the code is right, and it was written with care: it counts the tokens of the whole window. The weights
of the ranks show in no log, and with packed sequences they are nearly equal.

## Example

```python bad whole -- two processes
from contextlib import nullcontext

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
model = DistributedDataParallel(nn.Linear(4, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
generator = torch.Generator().manual_seed(dist.get_rank())
for _ in range(3):
    lengths = torch.randint(1, 30, (4,), generator=generator).tolist()
    batches = [(torch.randn(30, 4), torch.full((30,), -100).index_fill(0, torch.arange(n), 1)) for n in lengths]
    tokens = sum((y != -100).sum() for _, y in batches)
    for i, (x, y) in enumerate(batches):
        with model.no_sync() if i + 1 < len(batches) else nullcontext():
            loss = F.cross_entropy(model(x), y, reduction="sum") / tokens
            loss.backward()  # expect: local-token-normalization
    optimizer.step()
    optimizer.zero_grad()
dist.destroy_process_group()
```

```python good whole -- two processes
from contextlib import nullcontext

import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

dist.init_process_group("gloo")
model = DistributedDataParallel(nn.Linear(4, 3))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
generator = torch.Generator().manual_seed(dist.get_rank())
for _ in range(3):
    lengths = torch.randint(1, 30, (4,), generator=generator).tolist()
    batches = [(torch.randn(30, 4), torch.full((30,), -100).index_fill(0, torch.arange(n), 1)) for n in lengths]
    tokens = sum((y != -100).sum() for _, y in batches)
    dist.all_reduce(tokens)
    for i, (x, y) in enumerate(batches):
        with model.no_sync() if i + 1 < len(batches) else nullcontext():
            loss = F.cross_entropy(model(x), y, reduction="sum") * dist.get_world_size() / tokens
            loss.backward()
    optimizer.step()
    optimizer.zero_grad()
dist.destroy_process_group()
```

## What to do

All-reduce the number of tokens of the window, and multiply by the world size what DistributedDataParallel divides by:
`loss_sum * world_size / tokens_of_all_ranks`. One all-reduce of a single number per window is enough.

## Fix

None. The count has to be summed over the ranks, which is a communication, and its place a decision.

## Source

- DistributedDataParallel averages gradients over the ranks
  (https://docs.pytorch.org/docs/stable/generated/torch.nn.parallel.DistributedDataParallel.html)
- "Fixing gradient accumulation": the same for micro-batches (https://huggingface.co/blog/gradient_accumulation)
- transformers: `average_tokens_across_devices`
  (https://huggingface.co/docs/transformers/main_classes/trainer#transformers.TrainingArguments)
"""

from amplint.catalogue.across_ranks import by_own_tokens, local_tokens, only_means, token_words
from amplint.catalogue.amounts import at_least
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import STEPS, Kind
from amplint.protocol.ranks import Wrapper

RULE = Rule(
    tier=Tier.ERROR,
    message="each rank divides by its own number of tokens{counts}, and the ranks are averaged: a token on a rank with "
    "few tokens weighs more than one on a rank with many{spread}",
    advice="all-reduce the number of tokens, and multiply by the world size: `loss_sum * world_size / all_tokens`",
    when=(Condition(STEPS, wrapper=Wrapper.DDP, micro_steps=at_least(2), also=by_own_tokens),),
    place=Kind.BACKWARD,
    milder=only_means,
    words=token_words,
    observe=local_tokens,
)
