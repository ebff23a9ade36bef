"""A script that says no word of training: it wraps a model for others that train it."""

import torch.distributed as dist
from torch.nn.parallel import DistributedDataParallel as Replicas

from .epochs import train_loop
from .parts import loaders, network, optimizer_of


def main(rank, options):
    dist.init_process_group("nccl", rank=rank)
    net = Replicas(network(options).to(rank), device_ids=[rank])
    opt = optimizer_of(net, options)
    train_loop(net, opt, loaders(options), options)  # expect: missing-no-sync
