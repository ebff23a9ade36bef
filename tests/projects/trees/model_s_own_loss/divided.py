import torch

from zoo.language import Language


def main(args, loader):
    assert len(loader) % args.accum == 0
    model = Language(args.words).cuda()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    optimizer.zero_grad()
    for epoch in range(args.epochs):
        for i, (tokens, targets) in enumerate(loader):
            _, loss = model(tokens, targets=targets)
            loss = loss / args.accum
            loss.backward()
            if (i + 1) % args.accum == 0:
                optimizer.step()
                optimizer.zero_grad()
