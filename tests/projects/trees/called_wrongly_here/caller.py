"""The one who calls it divides in the criterion."""

import torch
from torch.nn import functional as F

from .alone import Summed


def run(net, batches, window):
    optimizer = torch.optim.SGD(net.parameters(), lr=0.1)

    def criterion(out, y):
        return F.mse_loss(out, y) / window

    steps = Summed(net, criterion, optimizer, window)
    for x, y in batches:
        steps.take(x, y)
