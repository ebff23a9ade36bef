"""The window grows during training, and the divisor with it."""
# right

import torch
from torch import nn


def window_at(update):
    return 2 if update < 2 else 4


torch.manual_seed(0)
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
update = micro = 0
while update < 5:
    window = window_at(update)
    x, y = torch.randn(4, 4), torch.randint(2, (4,))
    loss = nn.functional.cross_entropy(model(x), y) / window
    loss.backward()
    micro += 1
    if micro == window:
        optimizer.step()
        optimizer.zero_grad()
        update, micro = update + 1, 0
