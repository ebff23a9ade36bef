"""The training forward calls the module inside DistributedDataParallel: gradients are never reduced over the ranks.

## What happens

The forward of DistributedDataParallel (DDP) prepares the reduction that its backward does. `model.module(x)` goes
around it: each rank keeps the gradients of its own micro-batches and steps with them. The copies of the model drift
apart in silence, and training on eight GPUs is eight trainings on an eighth of the data.

## Why it is easy to miss

`model.module` is right for evaluation, for an average of the weights and for `state_dict()`, and the loss goes down.

## Example

```python bad whole static-only -- needs several processes
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel


def train(net, loader):
    model = DistributedDataParallel(net)
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        optimizer.zero_grad()
        loss = criterion(model.module(x), y)  # expect: forward-bypasses-ddp
        loss.backward()
        optimizer.step()
```

```python good whole static-only -- needs several processes
import torch
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
    torch.save(model.module.state_dict(), "net.pt")
```

## Messages

- no error; "ranks diverge", "the weights differ between ranks"

## What to do

Call the wrapped model. A method of the module other than `forward` that trains can be reached through `forward` with an
argument that says what is meant.

## Fix

Safe: calls the wrapper. It runs the same forward, and the ranks then average their gradients, which is all that it is
for. The numbers of a run that was tuned with the mistake in it change.

## Source

- DistributedDataParallel: gradients are synchronized by hooks that its `forward` prepares
  (https://docs.pytorch.org/docs/stable/notes/ddp.html#internal-design)
- `torch/nn/parallel/distributed.py` of torch 2.13, `_post_forward`
"""

from amplint.catalogue.remedy import Unwrap, safe
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import Kind

RULE = Rule(
    tier=Tier.ERROR,
    message="the training forward goes around DistributedDataParallel: gradients are never reduced over the ranks, and "
    "the copies of the model drift apart",
    advice="call the wrapped model, not its `module`",
    when=(Condition(Kind.BYPASS),),
    hides=("ranks-disagree",),
    remedy=safe(
        "call the wrapped model",
        Unwrap("module"),
    ),
)
