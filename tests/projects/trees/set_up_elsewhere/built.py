import torch

from parts.net import build


def train(args, loader):
    assert len(loader) % args.accum == 0
    model = build(args)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for i, (x, y) in enumerate(loader):
        loss = model(x, y)
        loss.backward()  # expect: missing-loss-division
        if (i + 1) % args.accum == 0:
            optimizer.step()
            optimizer.zero_grad()
