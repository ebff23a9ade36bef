"""The norm is taken first and clipped with afterwards, both before the gradients are unscaled."""

# wrong: scaled-gradient-norm, clip-before-unscale
import torch
from torch import nn
from torch.nn.utils import clip_grads_with_norm_, get_total_norm

torch.manual_seed(0)
model = nn.Linear(5, 2)
opt = torch.optim.SGD(model.parameters(), 0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=64.0)
for i in range(6):
    opt.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = nn.functional.cross_entropy(model(torch.randn(4, 5)), torch.randint(2, (4,)))
    scaler.scale(loss).backward()
    norm = get_total_norm([p.grad for p in model.parameters()])  # expect: scaled-gradient-norm
    clip_grads_with_norm_(model.parameters(), 1.0, norm)  # expect: clip-before-unscale
    scaler.step(opt)
    scaler.update()
    print(i, loss.item(), norm.item())
