"""step, then unscale_ and clip: torch raises at the unscale_."""
# wrong: unscale-after-step
# exits: 1

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=64.0)
for _ in range(4):
    x, y = torch.randn(4, 4), torch.randint(2, (4,))
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = nn.functional.cross_entropy(model(x), y)
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.unscale_(optimizer)  # expect: unscale-after-step
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.update()
