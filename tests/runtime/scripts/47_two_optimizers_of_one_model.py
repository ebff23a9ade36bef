"""Two optimizers of the same parameters step one after the other: each uses the gradients once."""
# right

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 2)
descent = torch.optim.SGD(model.parameters(), lr=0.01)
shrinkage = torch.optim.SGD(model.parameters(), lr=0.01, weight_decay=0.1)
for _ in range(6):
    x, y = torch.randn(4, 4), torch.randint(2, (4,))
    nn.functional.cross_entropy(model(x), y).backward()
    descent.step()
    shrinkage.step()
    descent.zero_grad()
