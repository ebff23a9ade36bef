"""`optimizer.zero_grad` without the parentheses: the gradients of all windows add up."""
# wrong: missing-zero-grad

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for step in range(12):
    x, y = torch.randn(4, 4), torch.randint(2, (4,))
    loss = nn.functional.cross_entropy(model(x), y) / 3
    loss.backward()  # expect: missing-zero-grad
    if (step + 1) % 3 == 0:
        optimizer.step()
        optimizer.zero_grad
