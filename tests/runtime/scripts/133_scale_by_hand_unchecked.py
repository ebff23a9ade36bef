"""A loss scale by hand is divided out after the clip, and every step is taken."""

# wrong: clip-before-unscale, unchecked-manual-scale
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(6, 3)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
LOSS_SCALE = 1024.0
for step in range(6):
    x, y = torch.randn(4, 6), torch.randint(3, (4,))
    opt.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    (loss * LOSS_SCALE).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # expect: clip-before-unscale
    for p in model.parameters():
        if p.grad is not None:
            p.grad /= LOSS_SCALE
    opt.step()  # expect: unchecked-manual-scale
    print(step, loss.item())
