"""A model and a loss that go through torch.compile."""
# right

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
compiled = torch.compile(model, backend="eager")
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
accumulate = 2
for step in range(6):
    x, y = torch.randn(4, 4), torch.randint(2, (4,))
    loss = nn.functional.cross_entropy(compiled(x), y) / accumulate
    loss.backward()
    if (step + 1) % accumulate == 0:
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
