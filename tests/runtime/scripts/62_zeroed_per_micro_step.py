"""zero_grad() at the top of a loop that accumulates: only the last micro-batch of a window counts."""
# wrong: zero-grad-per-micro-step

import torch
from torch import nn


def train(model, batches, accumulate):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for index, (x, y) in enumerate(batches):
        optimizer.zero_grad()  # expect: zero-grad-per-micro-step
        loss = nn.functional.cross_entropy(model(x), y) / accumulate
        loss.backward()
        if (index + 1) % accumulate == 0:
            optimizer.step()


torch.manual_seed(0)
train(nn.Linear(4, 2), [(torch.randn(4, 4), torch.randint(2, (4,))) for _ in range(16)], accumulate=4)
