import torch

from parts.net import Net


def train(args, loader):
    assert len(loader) % args.accum == 0
    model = Net.restored(args.path)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for i, (x, y) in enumerate(loader):
        loss = model(x, y)
        loss.backward()  # expect: missing-loss-division
        if (i + 1) % args.accum == 0:
            optimizer.step()
            optimizer.zero_grad()


def train_divided(args, loader):
    assert len(loader) % args.accum == 0
    model = Net.restored(args.path)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for i, (x, y) in enumerate(loader):
        loss = model(x, y) / args.accum
        loss.backward()
        if (i + 1) % args.accum == 0:
            optimizer.step()
            optimizer.zero_grad()
