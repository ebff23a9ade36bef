"""In float32, the clip stands before the gate: partly accumulated gradients are clipped again and again."""
# wrong: clip-per-micro-step

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
accumulate = 4
for step, _ in enumerate(range(12)):
    x, y = torch.randn(4, 4), torch.randint(2, (4,))
    loss = nn.functional.cross_entropy(model(x), y) / accumulate
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 0.1)  # expect: clip-per-micro-step
    if (step + 1) % accumulate == 0:
        optimizer.step()
        optimizer.zero_grad()
