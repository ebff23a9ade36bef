"""Three mistakes in one function: whole losses, a clip of scaled gradients, a scheduler per micro-step."""
# wrong: missing-loss-division, clip-before-unscale, scheduler-per-micro-step

import torch
from torch import nn


def train_one_epoch(model, loader, criterion, optimizer, scaler, scheduler, accum_steps):
    model.train()
    optimizer.zero_grad()
    for step, (inputs, targets) in enumerate(loader):
        with torch.autocast(device_type="cpu", dtype=torch.float16):
            outputs = model(inputs)
            loss = criterion(outputs, targets)
        scaler.scale(loss).backward()  # expect: missing-loss-division
        if (step + 1) % accum_steps == 0:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # expect: clip-before-unscale
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
        scheduler.step()  # expect: scheduler-per-micro-step


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
    loader = [(torch.randn(4, 8), torch.randint(3, (4,))) for _ in range(12)]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=4096.0)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda update: 0.99**update)
    train_one_epoch(model, loader, nn.CrossEntropyLoss(), optimizer, scaler, scheduler, accum_steps=4)


main()
