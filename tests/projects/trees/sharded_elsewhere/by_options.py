import torch
from ranks import set_up, set_up_whole
from torch.distributed.fsdp import FullyShardedDataParallel


def train(net, loader):
    options = set_up()
    options["auto_wrap_policy"] = None
    model = FullyShardedDataParallel(net, **options)
    optimizer = torch.optim.AdamW(model.parameters())
    for x in loader:
        optimizer.zero_grad()
        model(x).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # expect: fsdp-local-clip
        optimizer.step()


def train_rightly(net, loader):
    model = FullyShardedDataParallel(net, **set_up())
    optimizer = torch.optim.AdamW(model.parameters())
    for x in loader:
        optimizer.zero_grad()
        model(x).loss.backward()
        model.clip_grad_norm_(1.0)
        optimizer.step()


def train_whole(net, loader):
    options = set_up_whole()
    options["auto_wrap_policy"] = None
    model = FullyShardedDataParallel(net, **options)
    optimizer = torch.optim.AdamW(model.parameters())
    for x in loader:
        optimizer.zero_grad()
        model(x).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
