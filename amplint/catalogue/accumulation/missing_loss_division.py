"""The loss is not divided by the number of accumulated micro-batches.

## What happens

Backward adds. A criterion that takes the mean, as torch's do by default, makes N gradients of full size, and
their sum is N times the gradient of the equivalent large batch. With `accum_steps = 4` and plain SGD a learning
rate of 0.1 acts like 0.4, a clip threshold of 1.0 like 0.25, and coupled (L2) weight decay has a quarter of its
share. Adam without L2 and AdamW cancel a common factor, so without a clip hardly anything changes: there it is
a warning.

## Why it is easy to miss

With `accum_steps = 1` nothing is wrong, and the loss that is logged is right with any value. Raising
`accum_steps` makes training unstable, and it looks as if the larger batch were to blame.

## Example

```python bad
for i, (x, y) in enumerate(loader):
    loss = criterion(model(x), y)
    loss.backward()  # expect: missing-loss-division
    if (i + 1) % accum_steps == 0:
        optimizer.step()
        optimizer.zero_grad()
```

```python good
for i, (x, y) in enumerate(loader):
    loss = criterion(model(x), y) / accum_steps
    loss.backward()
    if (i + 1) % accum_steps == 0:
        optimizer.step()
        optimizer.zero_grad()
```

Sums that are divided by all samples of the window are right too, and more exact where micro-batches differ in
size:

```python good
for start in range(0, len(loader), accum_steps):
    window = loader[start : start + accum_steps]
    samples = sum(len(y) for _, y in window)
    optimizer.zero_grad()
    for x, y in window:
        loss = F.cross_entropy(model(x), y, reduction="sum") / samples
        loss.backward()
    optimizer.step()
```

## Messages

- no error; "the gradient norm is N times higher when I raise gradient_accumulation_steps", "the clip is always
  active"

## What to do

Divide the loss by the window's number of micro-batches before its backward, on every branch. Do not divide the
learning rate instead (clip and L2 stay wrong), nor only the logged value, nor after the backward
(`ineffective-loss-division`); do not divide where a framework's backward already does, as
`accelerator.backward` and DeepSpeed's `engine.backward`.

## Fix

Unsafe: divides the loss where it is back-propagated. The gradient, and with SGD the effective learning rate,
becomes 1/N of what it was; the message says what N is. What is logged stays as it is.

## Source

- Gradient accumulation (`loss = loss / iters_to_accumulate`)
  (https://docs.pytorch.org/docs/stable/notes/amp_examples.html#gradient-accumulation)
- CrossEntropyLoss (`reduction="mean"`)
  (https://docs.pytorch.org/docs/stable/generated/torch.nn.CrossEntropyLoss.html)
"""

from amplint.catalogue.amounts import undivided, weight_in_doubt, window_words
from amplint.catalogue.felt import hardly_felt
from amplint.catalogue.remedy import Divide, unsafe
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import STEPS, Kind

RULE = Rule(
    tier=Tier.ERROR,
    message="the loss of each of the {n} accumulated micro-batches is added whole: the gradient is {times} times that "
    "of the equivalent batch{consequence}",
    advice="divide the loss by {n} before its backward",
    when=(Condition(STEPS, late=False, joined=False, also=undivided),),
    place=Kind.BACKWARD,
    because=((Kind.STEP, "the sum is stepped here"),),
    milder=hardly_felt,
    words=window_words,
    undecided=weight_in_doubt,
    remedy=unsafe(
        "divide the loss by {n}: the gradient, and with SGD the effective learning rate, becomes 1/{n} of what it was",
        Divide(),
        reveals=("misnormalized-tail-window",),
    ),
)
