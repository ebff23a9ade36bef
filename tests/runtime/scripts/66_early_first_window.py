"""`index % N == 0`: the first update of every epoch is made from one micro-batch."""
# wrong: early-first-window

import torch
from torch import nn


def train(epochs, accumulate):
    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    loader = [(torch.randn(4, 4), torch.randint(2, (4,))) for _ in range(9)]
    for _ in range(epochs):
        optimizer.zero_grad()
        for index, (x, y) in enumerate(loader):
            loss = nn.functional.cross_entropy(model(x), y) / accumulate
            loss.backward()
            if index % accumulate == 0:  # expect: early-first-window
                optimizer.step()
                optimizer.zero_grad()


train(epochs=2, accumulate=4)
