import torch
from steps import advance

scaler = torch.amp.GradScaler("cuda")


def train(model, loader, criterion, optimizer):
    for x, y in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(model(x), y)
        advance(loss, scaler, optimizer)
