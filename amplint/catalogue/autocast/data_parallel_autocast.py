"""`nn.DataParallel` runs its replicas in float16, although bfloat16 was asked for.

## What happens

`nn.DataParallel` runs each replica in a thread of its own. Autocast is a state of the thread: the new threads are told
whether it is on, but not its dtype, and take the default of CUDA, which is float16. With `dtype=torch.bfloat16` outside
of the model, the replicas overflow beyond 65504 and, as bfloat16 needs no loss scaling, small gradients vanish.

## Why it is easy to miss

On one GPU there are no threads, and the dtype is right. The loss, which is computed outside of the replicas, is in
bfloat16 as it should be. With float16 nothing is wrong at all.

## Example

```python bad static-only -- needs two CUDA devices
replicas = nn.DataParallel(model)
for x, y in loader:
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.bfloat16):  # expect: data-parallel-autocast
        loss = criterion(replicas(x), y)
    loss.backward()
    optimizer.step()
```

```python good static-only -- needs CUDA
class Half(nn.Module):
    def __init__(self, inner):
        super().__init__()
        self.inner = inner

    @torch.autocast("cuda", dtype=torch.bfloat16)
    def forward(self, x):
        return self.inner(x)


replicas = nn.DataParallel(Half(model))
for x, y in loader:
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = criterion(replicas(x), y)
    loss.backward()
    optimizer.step()
```

## What to do

Use `DistributedDataParallel`, which has a process for each GPU and is faster besides; or decorate the model's
`forward` with `@torch.autocast("cuda", dtype=torch.bfloat16)`, which is entered in each thread.

## Fix

None. The region has to go into the `forward` of the model, or DataParallel has to go.

## Source

- Working with multiple GPUs (https://docs.pytorch.org/docs/stable/notes/amp_examples.html#working-with-multiple-gpus)
- `torch/nn/parallel/parallel_apply.py` of torch 2.13: `torch.amp.autocast(device_type, enabled=autocast_enabled)`
"""

from amplint.catalogue.rule import Rule, Tier
from amplint.protocol.facts import Fact


def _replicas(fact: Fact) -> dict[str, str] | None:
    return {} if fact.called == "torch.nn.DataParallel" and fact.used == "entered" else None


RULE = Rule(
    tier=Tier.ERROR,
    message="`nn.DataParallel` runs its replicas in threads that take over autocast but not its dtype: they run in "
    "float16, not bfloat16",
    advice="use DistributedDataParallel, or decorate the model's `forward` with the autocast",
    find=_replicas,
    once=True,
)
