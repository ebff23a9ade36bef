import torch

from keepers import Keeper


def train(model, criterion, loader, optimizer, epochs):
    keeper = Keeper("checkpoints")
    scaler = torch.amp.GradScaler("cuda")
    for epoch in range(epochs):
        for x, y in loader:
            optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                loss = criterion(model(x), y)
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        keeper.save_weights(model, optimizer)
