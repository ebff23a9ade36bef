"""The scheduler steps before the optimizer, window after window."""
# wrong: scheduler-before-optimizer

import warnings

import torch
from torch import nn

warnings.filterwarnings("ignore", message="Detected call of")
torch.manual_seed(0)
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda update: 0.9**update)
for step in range(8):
    x, y = torch.randn(4, 4), torch.randint(2, (4,))
    (nn.functional.cross_entropy(model(x), y) / 2).backward()
    if step % 2 == 1:
        scheduler.step()  # expect: scheduler-before-optimizer
        optimizer.step()
        optimizer.zero_grad()
