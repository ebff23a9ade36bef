"""Gradients are removed by hand, without zero_grad; once through the model, once one by one."""
# right

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
accumulate = 2
for step in range(8):
    x = torch.randn(4, 4)
    loss = nn.functional.mse_loss(model(x), x) / accumulate
    loss.backward()
    if (step + 1) % accumulate == 0:
        optimizer.step()
        if step < 4:
            model.zero_grad()
        else:
            for parameter in model.parameters():
                parameter.grad = None
