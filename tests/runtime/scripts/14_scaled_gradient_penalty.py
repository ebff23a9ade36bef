"""A penalty on the parameters' gradients in mixed precision: made from a scaled loss, divided by the scale at once."""
# right

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
scaler = torch.amp.GradScaler("cpu", init_scale=64.0)
for _ in range(4):
    x, y = torch.randn(6, 4), torch.randint(2, (6,))
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = nn.functional.cross_entropy(model(x), y)
    scaled = torch.autograd.grad(scaler.scale(loss), list(model.parameters()), create_graph=True)
    inverse = 1.0 / scaler.get_scale()
    slopes = [slope * inverse for slope in scaled]
    with torch.autocast("cpu", dtype=torch.float16):
        norm = torch.stack([slope.float().pow(2).sum() for slope in slopes]).sum().sqrt()
        loss = loss + 0.1 * norm
    scaler.scale(loss).backward()
    scaler.unscale_(optimizer)
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
