"""A weight average is updated on micro-steps on which no weight moved: it forgets too fast.

## What happens

An exponential average with a decay of 0.999 remembers about 1000 updates. Updated on every micro-step of a window
of four, it takes each weight in four times, and remembers 250: `decay**4`. A running mean (SWA) counts each of its
models four times. The averaged weights follow the noise that they were to smooth.

## Why it is easy to miss

Nothing fails, and with a window of 1, where the code was written, it is right. Only the evaluation of the averaged
model shows it, as a gain that is smaller than it was.

## Example

```python bad
average = torch.optim.swa_utils.AveragedModel(model)
for i, (x, y) in enumerate(loader):
    loss = criterion(model(x), y) / accum_steps
    loss.backward()
    if (i + 1) % accum_steps == 0:
        optimizer.step()
        optimizer.zero_grad()
    average.update_parameters(model)  # expect: ema-per-micro-step
```

```python good
average = torch.optim.swa_utils.AveragedModel(model)
for i, (x, y) in enumerate(loader):
    loss = criterion(model(x), y) / accum_steps
    loss.backward()
    if (i + 1) % accum_steps == 0:
        optimizer.step()
        optimizer.zero_grad()
        average.update_parameters(model)
```

Without windows the weights move on every micro-step:

```python good
average = torch.optim.swa_utils.AveragedModel(model)
for x, y in loader:
    optimizer.zero_grad()
    criterion(model(x), y).backward()
    optimizer.step()
    average.update_parameters(model)
```

## What to do

Update the average right after the optimizer's step, under the same gate (`if accelerator.sync_gradients:` with
Accelerate). If the decay was tuned with the update on every micro-step, raise it to the N-th power to keep what it
remembers.

## Fix

None. The decay may have been chosen for as many updates as there are now; whether it or the place should
change, the source does not say.

## Source

- Weight averaging (https://docs.pytorch.org/docs/stable/optim.html#weight-averaging-swa-and-ema)
- `torch/optim/swa_utils.py` of torch 2.13: `update_parameters` averages whenever it is called
"""

from amplint.catalogue.amounts import at_least, averaged_again
from amplint.catalogue.lengths import length_of
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import Kind

RULE = Rule(
    tier=Tier.WARNING,
    message="the weight average is updated on micro-steps on which no weight moved: with windows of {n} it forgets "
    "{n} times as fast",
    advice="update the average where the optimizer steps",
    when=(Condition(Kind.AVERAGE, micro_steps=at_least(1), steps=at_least(1), also=averaged_again),),
    words=lambda moment: {"n": length_of(moment, lambda window: window.longest)},
    because=((Kind.STEP, "the weights last moved here"),),
)
