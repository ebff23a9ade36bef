"""A scheduler is built and never stepped.

## What happens

The learning rate stays what the constructor made of it. That is the optimizer's own rate for StepLR and the
cosines: the model is trained at the peak to the end. It is a 25th of the peak for OneCycleLR and 0 for the
schedules of transformers with a warm-up: nothing is learned at all.

## Why it is easy to miss

The scheduler is there, its state goes into the checkpoints, `get_last_lr()` is logged. torch says nothing of one
that is not stepped.

## Example

```python bad
decay = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)  # expect: scheduler-never-stepped
batches = torch.utils.data.DataLoader(loader, batch_size=None)
for epoch in range(epochs):
    for x, y in batches:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
    print(epoch, decay.get_last_lr())
```

```python good
decay = torch.optim.lr_scheduler.StepLR(optimizer, step_size=1, gamma=0.5)
batches = torch.utils.data.DataLoader(loader, batch_size=None)
for epoch in range(epochs):
    for x, y in batches:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
    decay.step()
```

One that another scheduler steps is not idle:

```python good
warmup = torch.optim.lr_scheduler.LinearLR(optimizer, total_iters=2)
cosine = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=200)
both = torch.optim.lr_scheduler.SequentialLR(optimizer, [warmup, cosine], milestones=[2])
batches = torch.utils.data.DataLoader(loader, batch_size=None)
for epoch in range(epochs):
    for x, y in batches:
        optimizer.zero_grad()
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()
        both.step()
```

## What to do

Call `step()` where the schedule counts: after `optimizer.step()`, or at the end of an epoch. If the schedule is not
wanted, do not build it: some constructors change the learning rate.

Where the optimizer steps in one branch with mixed precision and in another one without, the scheduler has to step for
both: one that steps in one of the branches only stands still in the other. A setting that switches the schedule off
while the optimizer steps at the same place is no mistake.

In Lightning's manual optimization (`self.automatic_optimization = False`) the Trainer steps no scheduler: one that
`configure_optimizers` returns is stepped by `self.lr_schedulers().step()`, in `training_step` or at the end of an
epoch, or by nobody.

A scheduler that an object keeps is nobody else's if the object runs all epochs itself, and nothing that is not seen
gets at it. One that goes from function to function, or to another file, is followed as long as all that has it is seen.
Any other one that is returned, stored or passed on may be stepped elsewhere: nothing is said of it before the program
runs. In a run something is said when it is over, and two epochs or a hundred updates were seen.

## Fix

None. Where it steps depends on what its numbers count.

## Source

- How to adjust learning rate (https://docs.pytorch.org/docs/stable/optim.html#how-to-adjust-learning-rate)
- `torch/optim/lr_scheduler.py` of torch 2.13, `LRScheduler.step`
- `lightning/pytorch/loops/training_epoch_loop.py` of lightning 2.6.6, `_update_learning_rates`: it returns at once
  unless `automatic_optimization` is set
"""

import re
from collections.abc import Iterator, Sequence
from itertools import chain

from amplint.catalogue.contrasts import idle_in_a_branch, still_in_every_run
from amplint.catalogue.horizons import never_stepped
from amplint.catalogue.rule import Contrast, Course, Rule, Tier
from amplint.protocol.events import Kind
from amplint.protocol.facts import IDLE, Fact
from amplint.protocol.state import Moment

_SCHEDULES = re.compile(r"torch\.optim\.lr_scheduler\.[A-Z]|transformers\.(optimization\.)?get_(?!constant_schedule$)")
_CONSTANT = "constant"
"""The kind that `get_scheduler` makes of a rate that never moves: transformers 5.23, `SchedulerType.CONSTANT`."""


def _idle(fact: Fact) -> dict[str, str] | None:
    """No words where a scheduler has one name, stays there, and is not stepped, though its optimizer is; or where it is
    handed to a framework that steps none."""
    if fact.called == IDLE:
        return {} if _SCHEDULES.match(str(fact.arguments["schedule"])) else None
    constant = _CONSTANT in (fact.arguments.get(0), fact.arguments.get("name"))
    idle = fact.trains and fact.reads is not None and "step" not in fact.reads and not constant
    return {} if idle and _SCHEDULES.match(fact.called) else None


def _still(moment: Moment) -> dict[str, str] | None:
    return {} if never_stepped(moment) else None


def _compared(runs: Sequence[Course]) -> Iterator[Contrast]:
    """The schedulers that a branch leaves out, and those that nothing moves."""
    return chain(idle_in_a_branch(runs), still_in_every_run(runs))


RULE = Rule(
    tier=Tier.ERROR,
    message="the scheduler is never stepped: the learning rate stays what its constructor made of it",
    advice="call its `step()` after `optimizer.step()` or at the end of the epoch, or do not build it",
    find=_idle,
    observe=_still,
    reads=frozenset({Kind.END}),
    compare=_compared,
    place=Kind.CREATE,
)
