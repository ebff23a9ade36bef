"""Gradients are clipped by hand after they were unscaled."""
# right

import torch
from torch import nn


def clip_(parameters, limit):
    grads = [p.grad for p in parameters if p.grad is not None]
    norm = torch.stack([grad.detach().norm() for grad in grads]).norm()
    factor = (limit / (norm + 1e-6)).clamp(max=1.0)
    for grad in grads:
        grad.mul_(factor)
    return norm


torch.manual_seed(0)
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=128.0)
accumulate = 2
for step in range(8):
    x, y = torch.randn(4, 4), torch.randint(2, (4,))
    with torch.autocast("cpu", dtype=torch.float16):
        loss = nn.functional.cross_entropy(model(x), y) / accumulate
    scaler.scale(loss).backward()
    if (step + 1) % accumulate == 0:
        scaler.unscale_(optimizer)
        clip_(list(model.parameters()), 0.1)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
