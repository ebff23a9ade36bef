import torch
from torch.nn.parallel import DistributedDataParallel

from zoo.flow import Flow


def get_model(args):
    """An object that a function without a word of training makes."""
    sizes = {
        "dim": args.dim,
        "depth": args.depth,
    }
    model = Flow(args.backbone(**sizes))
    return model


def compute_loss(model, batch):
    loss, predicted = model(*batch)
    return loss, predicted.detach()


def train_one_epoch(model, loader, optimizer, accum):
    for i, batch in enumerate(loader):
        loss, _ = compute_loss(model, batch)
        loss.backward()  # expect: missing-loss-division  # expect: missing-no-sync
        if (i + 1) % accum == 0 or i + 1 == len(loader):
            optimizer.step()
            optimizer.zero_grad()


def train_divided(model, loader, optimizer, accum):
    for i, batch in enumerate(loader):
        loss, _ = compute_loss(model, batch)
        (loss / accum).backward()  # expect: missing-no-sync
        if (i + 1) % accum == 0:
            optimizer.step()
            optimizer.zero_grad()


def main(args, loader):
    assert len(loader) % args.accum == 0
    model = get_model(args)
    model = model.cuda()
    model = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for epoch in range(args.epochs):
        train_one_epoch(model, loader, optimizer, args.accum)
    for epoch in range(args.epochs):
        train_divided(model, loader, optimizer, args.accum)
