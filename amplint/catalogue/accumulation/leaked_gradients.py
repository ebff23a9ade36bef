"""Gradients that one model's loss left in another model are stepped with.

## What happens

The loss of a generator goes back through the discriminator on its way to the generator, and fills the `.grad` of
both. The generator's optimizer steps its own; what lies in the discriminator waits there. If nothing zeroes it before
the discriminator's own backward, it is added to that, and stepped: the discriminator moves towards what the
generator wants, which is to fool it, at the same time as it learns not to be fooled.

## Why it is easy to miss

Both optimizers have their `zero_grad()`, each after its own step, as a single model would have it. The losses of the
two models stay near each other, as they do when training goes well.

## Example

```python bad
generator, critic = nn.Linear(4, 4), nn.Linear(4, 1)
opt_g = torch.optim.Adam(generator.parameters(), lr=2e-4)
opt_d = torch.optim.Adam(critic.parameters(), lr=2e-4)
for real, _ in loader:
    fake = generator(torch.randn(len(real), 4))
    loss_d = F.softplus(-critic(real)).mean() + F.softplus(critic(fake.detach())).mean()
    loss_d.backward()
    opt_d.step()
    opt_d.zero_grad()

    loss_g = F.softplus(-critic(fake)).mean()
    loss_g.backward()  # expect: leaked-gradients
    opt_g.step()
    opt_g.zero_grad()
```

Zeroed before its own backward, the discriminator forgets them:

```python good
generator, critic = nn.Linear(4, 4), nn.Linear(4, 1)
opt_g = torch.optim.Adam(generator.parameters(), lr=2e-4)
opt_d = torch.optim.Adam(critic.parameters(), lr=2e-4)
for real, _ in loader:
    fake = generator(torch.randn(len(real), 4))
    opt_d.zero_grad()
    loss_d = F.softplus(-critic(real)).mean() + F.softplus(critic(fake.detach())).mean()
    loss_d.backward()
    opt_d.step()

    opt_g.zero_grad()
    loss_g = F.softplus(-critic(fake)).mean()
    loss_g.backward()
    opt_g.step()
```

## What to do

Call the discriminator's `zero_grad()` right before its own backward, or freeze its parameters
(`discriminator.requires_grad_(False)`) while the generator's loss goes back: that saves the work of computing them
too. Detaching the generator's output in the discriminator's phase is right and is not enough.

## Fix

None. To zero between the backwards, to detach and to freeze all help, and cost differently.

## Source

- DCGAN tutorial: `netD.zero_grad()` stands at the top of the discriminator's phase
  (https://docs.pytorch.org/tutorials/beginner/dcgan_faces_tutorial.html)
- Tensor.backward accumulates into every leaf of the graph
  (https://docs.pytorch.org/docs/stable/generated/torch.Tensor.backward.html)
"""

from amplint.catalogue.amounts import at_least
from amplint.catalogue.rule import Condition, Rule, Tier
from amplint.protocol.events import STEPS, Kind

RULE = Rule(
    tier=Tier.ERROR,
    message="this loss, which another optimizer steps for, leaves gradients in a model on its way; they are added to "
    "that model's own and stepped with",
    advice="zero that model's gradients before its own backward, or freeze it during this one",
    when=(Condition(STEPS, joined=True, zeros=at_least(1)),),
    place=Kind.PASS,
    because=((Kind.BACKWARD, "the model's own gradients are added here"), (Kind.STEP, "its optimizer steps the sum")),
)
