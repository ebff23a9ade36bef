"""A counter that is not full yet goes on with the next micro-batch; the last batch closes its window."""
# right

import os

import torch
from torch import nn

torch.manual_seed(0)
half = os.environ.get("HALF_PRECISION", "1") == "1"
model = nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=256.0, enabled=half)
accumulate = 4
for _epoch in range(2):
    count = 0
    for _batch in range(8):
        x, y = torch.randn(4, 4), torch.randint(3, (4,))
        with torch.autocast("cpu", dtype=torch.float16, enabled=half):
            loss = nn.functional.cross_entropy(model(x), y) / accumulate
        scaler.scale(loss).backward()
        count += 1
        if count < accumulate:
            continue
        count = 0
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
