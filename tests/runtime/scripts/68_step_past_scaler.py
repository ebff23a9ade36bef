"""The loss is scaled, and the optimizer steps without the scaler."""
# wrong: step-bypasses-scaler

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
scaler = torch.amp.GradScaler("cpu", init_scale=64.0)
for step in range(6):
    x, y = torch.randn(4, 4), torch.randint(2, (4,))
    with torch.autocast("cpu", dtype=torch.float16):
        loss = nn.functional.cross_entropy(model(x), y) / 2
    scaler.scale(loss).backward()
    if step % 2:
        optimizer.step()  # expect: step-bypasses-scaler
        optimizer.zero_grad()
