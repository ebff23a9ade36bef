"""The optimizer's step goes through torch.compile."""
# right

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, foreach=True)


@torch.compile(backend="eager")
def update():
    optimizer.step()


for index in range(6):
    x, y = torch.randn(4, 4), torch.randint(2, (4,))
    (nn.functional.cross_entropy(model(x), y) / 2).backward()
    if index % 2 == 1:
        update()
        optimizer.zero_grad()
