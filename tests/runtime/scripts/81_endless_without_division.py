"""An endless generator and a window grown from a function: the losses are added whole."""
# wrong: missing-loss-division

import torch
from torch import nn


def stream():
    generator = torch.Generator().manual_seed(0)
    while True:
        yield torch.randn(4, 4, generator=generator), torch.randint(2, (4,), generator=generator)


def update(model, optimizer, batches, micro_steps):
    optimizer.zero_grad()
    for _ in range(micro_steps):
        x, y = next(batches)
        nn.functional.cross_entropy(model(x), y).backward()  # expect: missing-loss-division
    optimizer.step()


torch.manual_seed(0)
network = nn.Linear(4, 2)
sgd = torch.optim.SGD(network.parameters(), lr=0.1)
source = stream()
for length in (2, 2, 4, 4):
    update(network, sgd, source, micro_steps=length)
