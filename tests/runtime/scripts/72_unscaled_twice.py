"""unscale_ on every micro-step, for a gradient norm in the log: torch raises at the second."""
# wrong: repeated-unscale
# exits: 1

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=64.0)
accumulate = 2
for step in range(6):
    x, y = torch.randn(4, 4), torch.randint(2, (4,))
    with torch.autocast("cpu", dtype=torch.float16):
        loss = nn.functional.cross_entropy(model(x), y) / accumulate
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)  # expect: repeated-unscale
    norm = torch.stack([p.grad.norm() for p in model.parameters()]).norm()
    if (step + 1) % accumulate == 0:
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
