"""GradScaler(enabled=False): every call of it is harmless, and the clip meets true gradients."""
# right

import torch
from torch import nn

torch.manual_seed(0)
use_amp = False
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", enabled=use_amp)
accumulate = 2
for step in range(6):
    x, y = torch.randn(4, 4), torch.randint(2, (4,))
    with torch.autocast("cpu", dtype=torch.float16, enabled=use_amp):
        loss = nn.functional.cross_entropy(model(x), y) / accumulate
    scaler.scale(loss).backward()
    if (step + 1) % accumulate == 0:
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
