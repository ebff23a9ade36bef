import torch
from torch.nn.parallel import DataParallel

from zoo.language import Language


def build(args):
    model = Language(args.words)
    return model.to(args.device)


def train_one_epoch(model, loader, optimizer, accum):
    model.train()
    for i, (tokens, targets) in enumerate(loader):
        logits, loss = model(tokens, targets)
        loss.backward()  # expect: missing-loss-division
        if (i + 1) % accum == 0 or i + 1 == len(loader):
            optimizer.step()
            optimizer.zero_grad()


def main(args, loader):
    model = DataParallel(build(args))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    optimizer.zero_grad()
    for epoch in range(args.epochs):
        train_one_epoch(model, loader, optimizer, args.accum)
