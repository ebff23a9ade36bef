"""One weight is NaN: every step is skipped, and the loss scale falls and falls."""
# wrong: collapsed-loss-scale

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
for step in range(30):
    x, y = torch.randn(4, 4), torch.randint(2, (4,))
    if step == 6:
        with torch.no_grad():
            model.weight[0, 0] = float("nan")
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = nn.functional.cross_entropy(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()  # expect: collapsed-loss-scale
