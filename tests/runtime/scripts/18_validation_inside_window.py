"""Validation runs in the middle of a window, with the same criterion and the same model."""
# right

import torch
from torch import nn


def validate(model, criterion, batches):
    model.eval()
    total = 0.0
    with torch.no_grad():
        for x, y in batches:
            total += criterion(model(x), y).item()
    model.train()
    return total / len(batches)


def main():
    torch.manual_seed(0)
    batches = [(torch.randn(4, 3), torch.randint(2, (4,))) for _ in range(12)]
    held_out = batches[:3]
    model = nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.2), nn.Linear(8, 2))
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    scaler = torch.amp.GradScaler("cpu", init_scale=32.0)
    accumulate, every = 4, 3
    for step, (x, y) in enumerate(batches, start=1):
        with torch.autocast("cpu", dtype=torch.float16):
            loss = criterion(model(x), y) / accumulate
        scaler.scale(loss).backward()
        if step % every == 0:
            validate(model, criterion, held_out)
        if step % accumulate == 0:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()


main()
