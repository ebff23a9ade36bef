"""An epoch of ten in windows of four: the last two micro-batches leak into the next epoch's first window."""
# wrong: dropped-tail-window

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
loader = DataLoader(TensorDataset(torch.randn(40, 4), torch.randint(2, (40,))), batch_size=4)
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
accumulate = 4
for _epoch in range(3):
    for index, (x, y) in enumerate(loader):
        loss = nn.functional.cross_entropy(model(x), y) / accumulate
        loss.backward()
        if (index + 1) % accumulate == 0:  # expect: dropped-tail-window
            optimizer.step()
            optimizer.zero_grad()
