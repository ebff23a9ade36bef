"""The means of micro-batches that hold different numbers of tokens are averaged.

## What happens

A criterion with `ignore_index` divides by the valid tokens of its own micro-batch, the code divides by the number of
micro-batches: every micro-batch has the same share of the update, however few tokens it holds. With 2, 12, 5 and 9
valid tokens in a window of four, a token of the first weighs 6.0 times one of the second, and the gradient is off
that of the same batch in one piece by 73 %. Short sequences dominate, and the loss depends on how the batch was cut.

## Why it is easy to miss

The weights of the micro-batches add up to 1, as they should. The loss falls, and is a little worse than that of the
large batch; with sequences of one length nothing is wrong at all.

## Example

```python bad
lengths = [2, 12, 5, 9]
batches = [(torch.randn(1, 12, 4), torch.randint(3, (1, 12))) for _ in lengths]
for (_, y), length in zip(batches, lengths):
    y[:, length:] = -100
for i, (x, y) in enumerate(batches):
    loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten()) / accum_steps
    loss.backward()  # expect: mean-of-token-means
    if (i + 1) % accum_steps == 0:
        optimizer.step()
        optimizer.zero_grad()
```

```python good
lengths = [2, 12, 5, 9]
batches = [(torch.randn(1, 12, 4), torch.randint(3, (1, 12))) for _ in lengths]
for (_, y), length in zip(batches, lengths):
    y[:, length:] = -100
tokens = sum(int((y != -100).sum()) for _, y in batches)
for x, y in batches:
    loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten(), reduction="sum") / tokens
    loss.backward()
optimizer.step()
optimizer.zero_grad()
```

A mean that is weighted by its share of the window's tokens is the same:

```python good
lengths = [2, 12, 5, 9]
batches = [(torch.randn(1, 12, 4), torch.randint(3, (1, 12))) for _ in lengths]
for (_, y), length in zip(batches, lengths):
    y[:, length:] = -100
for x, y in batches:
    loss = F.cross_entropy(model(x).flatten(0, 1), y.flatten())
    loss = loss * ((y != -100).sum() / sum(lengths))
    loss.backward()
optimizer.step()
optimizer.zero_grad()
```

Read without a run, this is a warning: that targets are masked with the value that the loss ignores says that their
number differs, and not by how much. In a run it is an error, with the numbers.

## Messages

- no error; "the loss with gradient accumulation is higher than with the full batch"

## What to do

Count the valid tokens of the whole window before its first backward, add the losses up with `reduction="sum"`, and
divide by that count. Dividing by the micro-batch's own count and by the window, or by the padded length, is not the
same. A last batch with fewer samples is another matter: its samples weigh a little more, and nobody minds.

## Fix

None. The number of tokens of the whole window has to be known before its first backward, which changes how
batches are fetched.

## Source

- Gradient accumulation: an average of averages is not the average over all tokens
  (https://huggingface.co/blog/gradient_accumulation)
- CrossEntropyLoss, the mean over targets that are not ignored
  (https://docs.pytorch.org/docs/stable/generated/torch.nn.CrossEntropyLoss.html)
"""

from amplint.catalogue.measures import uneven_tokens, unmeasured
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.catalogue.token_means import token_means, token_words
from amplint.protocol.events import STEPS, Kind

RULE = Rule(
    tier=Tier.ERROR,
    message="the means of micro-batches with {counts} are {how}: {weighs}",
    advice='add the losses up with `reduction="sum"` and divide by the valid tokens of the whole window',
    when=(Condition(STEPS, late=False, joined=False, also=token_means),),
    place=Kind.BACKWARD,
    milder=unmeasured,
    words=token_words,
    observe=uneven_tokens,
)
