"""Windows cut from a list before they are trained on; the last one is shorter and knows its own length."""
# right

import torch
from torch import nn


def chunks(items, size):
    for start in range(0, len(items), size):
        yield items[start : start + size]


def main():
    torch.manual_seed(0)
    loader = [(torch.randn(6, 4), torch.randn(6)) for _ in range(11)]
    model = nn.Sequential(nn.Linear(4, 4), nn.Tanh(), nn.Linear(4, 1), nn.Flatten(0))
    optimizer = torch.optim.Adagrad(model.parameters(), lr=0.05)
    for _ in range(2):
        for window in chunks(loader, 4):
            optimizer.zero_grad()
            for inputs, targets in window:
                loss = nn.functional.mse_loss(model(inputs), targets)
                loss.mul(1 / len(window)).backward()
            optimizer.step()


main()
