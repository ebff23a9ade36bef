"""Gradients are clipped by hand while they carry the scale."""
# wrong: clip-before-unscale

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
        norm = torch.stack([p.grad.norm() for p in model.parameters()]).norm()
        for p in model.parameters():
            p.grad.mul_(torch.clamp(1.0 / (norm + 1e-6), max=1.0))  # expect: clip-before-unscale
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
