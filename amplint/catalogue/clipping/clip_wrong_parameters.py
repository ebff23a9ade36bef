"""One model's parameters are clipped, another one's are stepped.

## What happens

The clip is given parameters that have no new gradients: it changes what was used already, or nothing at all. The
gradients that the loss has just made go into the step as they are. A spike that should have been cut goes into the
weights, and the logged norm is that of another model.

## Why it is easy to miss

Training loops with two models are written by copying one half onto the other. The optimizer is renamed, the clip is
not. Nothing raises, and as long as no gradient is large the result is the same.

## Example

```python bad
generator, critic = nn.Linear(4, 4), nn.Linear(4, 1)
opt_g = torch.optim.Adam(generator.parameters(), lr=2e-4)
opt_d = torch.optim.Adam(critic.parameters(), lr=2e-4)
for real, _ in loader:
    opt_g.zero_grad()
    fake = generator(torch.randn(len(real), 4))
    F.softplus(-critic(fake)).mean().backward()
    clip_grad_norm_(generator.parameters(), 1.0)
    opt_g.step()

    opt_d.zero_grad()
    loss_d = F.softplus(-critic(real)).mean() + F.softplus(critic(fake.detach())).mean()
    loss_d.backward()
    clip_grad_norm_(generator.parameters(), 1.0)  # expect: clip-wrong-parameters
    opt_d.step()
```

```python good
generator, critic = nn.Linear(4, 4), nn.Linear(4, 1)
opt_g = torch.optim.Adam(generator.parameters(), lr=2e-4)
opt_d = torch.optim.Adam(critic.parameters(), lr=2e-4)
for real, _ in loader:
    opt_g.zero_grad()
    fake = generator(torch.randn(len(real), 4))
    F.softplus(-critic(fake)).mean().backward()
    clip_grad_norm_(generator.parameters(), 1.0)
    opt_g.step()

    opt_d.zero_grad()
    loss_d = F.softplus(-critic(real)).mean() + F.softplus(critic(fake.detach())).mean()
    loss_d.backward()
    clip_grad_norm_(critic.parameters(), 1.0)
    opt_d.step()
```

## What to do

Clip the parameters of the optimizer that steps next. With a GradScaler the three calls speak of one optimizer:
`scaler.unscale_(opt)`, the clip of its parameters, `scaler.step(opt)`. A model that is meant to go without a clip
needs none of another's.

## Fix

None. Whether the clip or the optimizer has the right parameters, the source does not say.

## Source

- clip_grad_norm_ clips the gradients of the parameters that it is given
  (https://docs.pytorch.org/docs/stable/generated/torch.nn.utils.clip_grad_norm_.html)
- several models and optimizers with one scaler
  (https://docs.pytorch.org/docs/stable/notes/amp_examples.html#working-with-multiple-models-losses-and-optimizers)
"""

from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import STEPS, Kind

RULE = Rule(
    tier=Tier.ERROR,
    message="the clip is given another model's parameters than the optimizer that steps next: its gradients go into "
    "the step unclipped",
    advice="clip the parameters of the optimizer that steps next",
    when=(Condition(STEPS, missed=True, clipped=False, used=False),),
    place=Kind.MISSED_CLIP,
    because=(
        (Kind.BACKWARD, "the gradients that are stepped with are made here"),
        (Kind.STEP, "and stepped with here"),
    ),
    hides=("clip-after-step", "clip-before-backward", "clip-per-micro-step"),
)
