"""The same on one device: nothing is reduced."""

from .epochs import train_loop
from .parts import loaders, network, optimizer_of


def main(options):
    net = network(options)
    opt = optimizer_of(net, options)
    train_loop(net, opt, loaders(options), options)
