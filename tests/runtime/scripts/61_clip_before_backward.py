"""The clip comes between zero_grad and backward, where there is nothing to clip."""
# wrong: clip-before-backward

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(4):
    x, y = torch.randn(4, 4), torch.randint(2, (4,))
    optimizer.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # expect: clip-before-backward
    loss.backward()
    optimizer.step()
