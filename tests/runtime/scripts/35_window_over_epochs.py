"""A counter that lives longer than an epoch: an epoch's last micro-batches open the next epoch's first window."""
# right

import torch
from torch import nn


class State:
    micro = 0
    updates = 0


def main():
    torch.manual_seed(0)
    state = State()
    loader = [(torch.randn(4, 4), torch.randint(2, (4,))) for _ in range(6)]
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for _epoch in range(4):
        for x, y in loader:
            loss = nn.functional.cross_entropy(model(x), y) / 4
            loss.backward()
            state.micro += 1
            if state.micro % 4 != 0:
                continue
            optimizer.step()
            optimizer.zero_grad()
            state.updates += 1
    assert state.updates == 6


main()
