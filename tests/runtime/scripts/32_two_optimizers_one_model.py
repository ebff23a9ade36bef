"""One backward fills the parameters of two optimizers; both step, in a loop, through one scaler."""
# right

import torch
from torch import nn

torch.manual_seed(0)
backbone, head = nn.Linear(4, 6), nn.Linear(6, 2)
optimizers = [torch.optim.SGD(backbone.parameters(), lr=0.01), torch.optim.AdamW(head.parameters(), lr=1e-3)]
scaler = torch.amp.GradScaler("cpu", init_scale=32.0)
accumulate = 2
for step in range(8):
    x, y = torch.randn(4, 4), torch.randint(2, (4,))
    with torch.autocast("cpu", dtype=torch.float16):
        loss = nn.functional.cross_entropy(head(torch.relu(backbone(x))), y)
    scaler.scale(loss / accumulate).backward()
    if (step + 1) % accumulate == 0:
        for optimizer in optimizers:
            scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_([*backbone.parameters(), *head.parameters()], 1.0)
        for optimizer in optimizers:
            scaler.step(optimizer)
        scaler.update()
        for optimizer in optimizers:
            optimizer.zero_grad()
