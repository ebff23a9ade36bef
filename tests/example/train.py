"""A mixed-precision training script with gradient accumulation. It runs, the loss falls, and its numbers are wrong.

Run it with `python tests/example/train.py`, and read it with `amplint tests/example/train.py`.
"""

import torch
from torch import nn


def train_one_epoch(model, loader, criterion, optimizer, scaler, scheduler, accum_steps, device):
    model.train()
    for step, (inputs, targets) in enumerate(loader):
        inputs, targets = inputs.to(device), targets.to(device)
        optimizer.zero_grad(set_to_none=True) if step % accum_steps == 0 else None
        with torch.autocast(device_type=device.type, dtype=torch.float16):
            outputs = model(inputs)
            loss = criterion(outputs, targets)
        scaler.scale(loss).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        if (step + 1) % accum_steps == 0:
            scaler.step(optimizer)
            scaler.update()
            scheduler.step()
            print(f"step {step + 1}: loss {loss.item():.4f}, scale {scaler.get_scale():.0f}")


def main():
    torch.manual_seed(0)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
    accum_steps = 4
    windows = 3
    model = nn.Sequential(nn.Linear(16, 32), nn.ReLU(), nn.Linear(32, 4)).to(device)
    loader = [
        (torch.randn(8, 16), torch.randint(4, (8,))) for _ in range(windows * accum_steps + 2)
    ]  # and a tail of two
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    scaler = torch.amp.GradScaler(device.type)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=windows)
    train_one_epoch(model, loader, criterion, optimizer, scaler, scheduler, accum_steps, device)


if __name__ == "__main__":
    main()
