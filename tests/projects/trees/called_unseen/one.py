import torch
from torch import nn

from steps import train


def main(loader):
    model = nn.Linear(2, 1)
    train(model, loader, nn.MSELoss(), 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(torch.ones(1, 2)).sum().backward()
    optimizer.step()
