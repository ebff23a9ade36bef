"""A backward runs out of memory: its gradients are dropped, the batch is halved and tried again."""

# right
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 1))
opt = torch.optim.AdamW(model.parameters(), 1e-2)
boom = {3, 7}


class Explode(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, bad):
        ctx.bad = bad
        return x.clone()

    @staticmethod
    def backward(ctx, g):
        if ctx.bad:
            raise RuntimeError("CUDA out of memory. Tried to allocate")
        return g, None


def run(x, y, bad, weight=1.0):
    loss = nn.functional.mse_loss(model(Explode.apply(model[0].weight.sum() * 0 + x, bad)), y)
    (loss * weight).backward()
    return loss.item()


for step in range(10):
    x, y = torch.randn(8, 4), torch.randn(8, 1)
    opt.zero_grad()
    try:
        loss = run(x, y, step in boom)
    except RuntimeError as e:
        if "out of memory" not in str(e):
            raise
        for p in model.parameters():
            p.grad = None
        loss = 0.0
        for xs, ys in zip(x.chunk(2), y.chunk(2)):
            loss += run(xs, ys, False, len(xs) / len(x))
    opt.step()
    print(step, loss)
