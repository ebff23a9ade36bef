import torch
from ranks import NO_SHARDS, SHARDS, strategy_as_told, strategy_of
from torch.distributed.fsdp import FullyShardedDataParallel
from unseen_plans import PLAN


def train_with_shards(net, loader):
    model = FullyShardedDataParallel(net, sharding_strategy=SHARDS)
    optimizer = torch.optim.AdamW(model.parameters())
    for x in loader:
        optimizer.zero_grad()
        model(x).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # expect: fsdp-local-clip
        optimizer.step()


def train_as_chosen(net, loader, args):
    model = FullyShardedDataParallel(net, sharding_strategy=strategy_of(args))
    optimizer = torch.optim.AdamW(model.parameters())
    for x in loader:
        optimizer.zero_grad()
        model(x).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # expect: fsdp-local-clip
        optimizer.step()


def train_as_told(net, loader, args):
    model = FullyShardedDataParallel(net, sharding_strategy=strategy_as_told(args))
    optimizer = torch.optim.AdamW(model.parameters())
    for x in loader:
        optimizer.zero_grad()
        model(x).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


def train_without_shards(net, loader):
    model = FullyShardedDataParallel(net, sharding_strategy=NO_SHARDS)
    optimizer = torch.optim.AdamW(model.parameters())
    for x in loader:
        optimizer.zero_grad()
        model(x).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()


def train_as_nobody_sees(net, loader):
    model = FullyShardedDataParallel(net, sharding_strategy=PLAN)
    optimizer = torch.optim.AdamW(model.parameters())
    for x in loader:
        optimizer.zero_grad()
        model(x).loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
