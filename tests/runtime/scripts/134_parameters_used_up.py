"""A generator of parameters is used up by the optimizer; only the last loss of a window goes back."""

# wrong: backward-only-at-boundary, clip-exhausted-iterator
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(5, 8), nn.ReLU(), nn.Linear(8, 2))
params = (p for p in model.parameters() if p.requires_grad)
opt = torch.optim.Adam(params, 1e-2)
N = 3
for i in range(12):
    x, y = torch.randn(4, 5), torch.randint(2, (4,))
    loss = nn.functional.cross_entropy(model(x), y) / N
    if (i + 1) % N == 0:
        loss.backward()  # expect: backward-only-at-boundary
        nn.utils.clip_grad_norm_(params, 1.0)  # expect: clip-exhausted-iterator
        opt.step()
        opt.zero_grad()
        print(i, loss.item())
