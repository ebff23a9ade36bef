import torch

from zoo.criterion import SummedLoss


def train(model, loader, accum, epochs):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    criterion = SummedLoss()
    for epoch in range(epochs):
        for i, (tokens, targets, mask) in enumerate(loader):
            loss, _ = criterion(model(tokens), targets, mask)
            loss.backward()
            if (i + 1) % accum == 0 or i + 1 == len(loader):
                optimizer.step()
                optimizer.zero_grad()
