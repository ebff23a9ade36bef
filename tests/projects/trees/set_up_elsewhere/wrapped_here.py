import torch
from torch.nn.parallel import DataParallel, DistributedDataParallel


def spread(net, args):
    print("on", args.rank)
    if args.several:
        net = DistributedDataParallel(net, device_ids=[args.rank])
    return net


def spread_in_threads(net, args):
    print("on", args.rank)
    if args.several:
        net = DataParallel(net)
    return net


def train(model, args, windows):
    model = spread(model, args)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for window in windows:
        for k in range(args.accum_steps):
            loss = torch.nn.functional.cross_entropy(model(window[k].x), window[k].y)
            (loss / args.accum_steps).backward()  # expect: missing-no-sync
        optimizer.step()
        optimizer.zero_grad()


def train_in_threads(model, args, windows):
    model = spread_in_threads(model, args)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for window in windows:
        for k in range(args.accum_steps):
            loss = torch.nn.functional.cross_entropy(model(window[k].x), window[k].y)
            (loss / args.accum_steps).backward()
        optimizer.step()
        optimizer.zero_grad()
