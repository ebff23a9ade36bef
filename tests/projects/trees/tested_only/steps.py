import torch


def train(model, loader, criterion, window):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    assert len(loader) % window == 0
    for i, (x, y) in enumerate(loader):
        loss = criterion(model(x), y)
        loss.backward()  # expect: missing-loss-division
        if (i + 1) % window == 0:
            optimizer.step()
            optimizer.zero_grad()
