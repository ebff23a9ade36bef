"""Where everything is made, and nothing goes back in this file."""

from engine import train_batch
from torch import nn, optim
from torch.nn.parallel import DistributedDataParallel


def train(net, loader):
    model = DistributedDataParallel(net)
    criterion = nn.CrossEntropyLoss()
    optimizer = optim.SGD(model.parameters(), lr=0.1)
    for x, y in loader:
        train_batch(criterion, model, optimizer, x, y)  # expect: forward-bypasses-ddp
