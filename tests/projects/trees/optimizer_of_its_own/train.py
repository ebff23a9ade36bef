import torch
from optim.adamw import AdamW


def train(model, loader, criterion):
    optimizer = AdamW(model.named_parameters())
    for x, y in loader:
        loss = criterion(model(x), y)
        loss.backward()
        optimizer.step()


def train_plainly(model, loader, criterion):
    optimizer = torch.optim.AdamW(model.parameters())
    for x, y in loader:
        loss = criterion(model(x), y)
        loss.backward()  # expect: missing-zero-grad
        optimizer.step()
