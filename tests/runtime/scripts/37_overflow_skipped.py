"""One micro-batch overflows: the scaler skips the update, and the scheduler waits with it."""
# right

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda update: 0.95**update)
for step in range(10):
    x, y = torch.randn(4, 4), torch.randint(2, (4,))
    if step == 5:
        x[0, 0] = float("inf")
    with torch.autocast("cpu", dtype=torch.float16):
        loss = nn.functional.cross_entropy(model(x), y)
    scaler.scale(loss / 2).backward()
    if step % 2 == 1:
        scaler.step(optimizer)
        before = scaler.get_scale()
        scaler.update()
        if scaler.get_scale() >= before:
            scheduler.step()
        optimizer.zero_grad()
assert scaler.get_scale() == 512.0
