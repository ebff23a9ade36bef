"""Gradients come from torch.autograd.grad and are put into .grad by hand."""
# right

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1))
parameters = list(model.parameters())
optimizer = torch.optim.Adam(parameters, lr=1e-2)
for _ in range(4):
    sums = [torch.zeros_like(p) for p in parameters]
    for _ in range(3):
        x = torch.randn(5, 4)
        loss = nn.functional.mse_loss(model(x), x.mean(dim=1, keepdim=True)) / 3
        for total, grad in zip(sums, torch.autograd.grad(loss, parameters), strict=True):
            total += grad
    for p, total in zip(parameters, sums, strict=True):
        p.grad = total
    nn.utils.clip_grad_norm_(parameters, 1.0)
    optimizer.step()
