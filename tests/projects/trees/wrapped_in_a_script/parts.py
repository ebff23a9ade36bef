import torch

from .data import batches_of
from .nets import Classifier


def network(options):
    return Classifier(options.width)


def loaders(options):
    return batches_of(options.folder)


def optimizer_of(net, options):
    return torch.optim.SGD(net.parameters(), lr=options.lr)
