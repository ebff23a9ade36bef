"""A constant loss scale by hand: divided out, checked for inf, clipped, stepped."""
# right

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
loss_scale = 128.0
for _ in range(5):
    x, y = torch.randn(4, 4), torch.randint(2, (4,))
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = nn.functional.cross_entropy(model(x), y)
    (loss * loss_scale).backward()
    for p in model.parameters():
        p.grad /= loss_scale
    if all(bool(torch.isfinite(p.grad).all()) for p in model.parameters()):
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
