"""The losses of several tasks are made at one place and weighted by learnt uncertainties: first one by one and stacked,
then all at once, as means over the batch, then one after the other. The window has as many micro-steps as there are tasks."""

# right
import torch
from torch import nn

torch.manual_seed(0)
TASKS = EVERY = 3
trunk = nn.Linear(5, 8)
heads = nn.ModuleList(nn.Linear(8, 1) for _ in range(TASKS))
logvar = nn.Parameter(torch.zeros(TASKS))
optimizer = torch.optim.SGD([*trunk.parameters(), *heads.parameters()], lr=1e-3)
optimizer_of_weights = torch.optim.SGD([logvar], lr=1e-2)


def losses_one_by_one(hidden, targets):
    return torch.stack([nn.functional.mse_loss(head(hidden), y) for head, y in zip(heads, targets)])


def losses_at_once(hidden, targets):
    outputs = torch.cat([head(hidden) for head in heads], dim=1)
    return (outputs - targets[..., 0].T).pow(2).mean(dim=0)


def weighted(losses):
    return (losses * torch.exp(-logvar) + logvar).sum()


def in_turn(hidden, targets):
    total = 0
    for head, y, weight in zip(heads, targets, torch.exp(-logvar)):
        total = total + nn.functional.mse_loss(head(hidden), y) * weight
    return total + logvar.sum()


ways = (
    lambda hidden, targets: weighted(losses_one_by_one(hidden, targets)),
    lambda hidden, targets: weighted(losses_at_once(hidden, targets)),
    in_turn,
)
for way in ways:
    for step in range(2 * EVERY):
        x, y = torch.randn(6, 5), torch.randn(TASKS, 6, 1)
        loss = way(torch.relu(trunk(x)), y) / EVERY
        loss.backward()
        if (step + 1) % EVERY == 0:
            for one in (optimizer, optimizer_of_weights):
                one.step()
                one.zero_grad()
