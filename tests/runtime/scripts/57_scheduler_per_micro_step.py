"""The scheduler stands one indentation too far left; its horizon counts updates."""
# wrong: scheduler-per-micro-step

import torch
from torch import nn

torch.manual_seed(0)
accumulate, batches = 4, 16
model = nn.Linear(4, 2)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
scaler = torch.amp.GradScaler("cpu", init_scale=64.0)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=batches // accumulate)
for index in range(batches):
    x, y = torch.randn(4, 4), torch.randint(2, (4,))
    with torch.autocast("cpu", dtype=torch.float16):
        loss = nn.functional.cross_entropy(model(x), y) / accumulate
    scaler.scale(loss).backward()
    if (index + 1) % accumulate == 0:
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
    scheduler.step()  # expect: scheduler-per-micro-step
