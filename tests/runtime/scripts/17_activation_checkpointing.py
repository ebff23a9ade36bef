"""Activations are recomputed in the backward, in the reentrant way and in the other, dropout included."""
# right

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


class Deep(nn.Module):
    def __init__(self, reentrant):
        super().__init__()
        self.reentrant = reentrant
        self.first = nn.Linear(6, 6)
        self.blocks = nn.ModuleList(nn.Sequential(nn.Linear(6, 6), nn.GELU(), nn.Dropout(0.1)) for _ in range(3))
        self.last = nn.Linear(6, 3)

    def forward(self, x):
        x = self.first(x)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=self.reentrant)
        return self.last(x)


def train(reentrant):
    torch.manual_seed(0)
    model = Deep(reentrant)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for index in range(6):
        x, y = torch.randn(4, 6), torch.randint(3, (4,))
        loss = nn.functional.cross_entropy(model(x), y) / 2
        loss.backward()
        if index % 2 == 1:
            nn.utils.clip_grad_value_(model.parameters(), 0.5)
            optimizer.step()
            optimizer.zero_grad()


for way in (True, False):
    train(reentrant=way)
