"""LBFGS: the closure zeroes, back-propagates and returns, many times in one step."""
# right

import torch
from torch import nn

torch.manual_seed(0)
inputs = torch.randn(20, 3)
targets = inputs @ torch.tensor([1.0, -2.0, 0.5])
model = nn.Linear(3, 1)
optimizer = torch.optim.LBFGS(model.parameters(), lr=0.5, max_iter=5, line_search_fn="strong_wolfe")


def closure():
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(inputs).squeeze(1), targets)
    loss.backward()
    return loss


for _ in range(4):
    optimizer.step(closure)
