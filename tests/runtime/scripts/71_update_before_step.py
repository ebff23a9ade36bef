"""update() before step(): gradients are divided by a scale that they were not multiplied by."""
# wrong: scaler-update-order
# exits: 1

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=64.0)
for step in range(8):
    x, y = torch.randn(4, 4), torch.randint(2, (4,))
    with torch.autocast("cpu", dtype=torch.float16):
        loss = nn.functional.cross_entropy(model(x), y) / 2
    scaler.scale(loss).backward()
    if (step + 1) % 2 == 0:
        scaler.unscale_(optimizer)
        scaler.update()  # expect: scaler-update-order
        scaler.step(optimizer)
        optimizer.zero_grad()
