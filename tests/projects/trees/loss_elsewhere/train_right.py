import torch

from losses import divided


def unrelated():
    return 1


def train(model, loader, accum):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    optimizer.zero_grad()
    for i, batch in enumerate(loader):
        loss = divided(model, batch, accum)
        loss.backward()
        if (i + 1) % accum == 0 or i + 1 == len(loader):
            optimizer.step()  # expect: misnormalized-tail-window
            optimizer.zero_grad()
