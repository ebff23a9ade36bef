"""A plain function in float32: divided, clipped once per window, scheduled per update."""
# right

import torch
from torch import nn


def train(model, loader, criterion, optimizer, scheduler, accum_steps):
    model.train()
    for step, (inputs, targets) in enumerate(loader):
        loss = criterion(model(inputs), targets) / accum_steps
        loss.backward()
        if (step + 1) % accum_steps == 0:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()


def main():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 3))
    loader = [(torch.randn(4, 8), torch.randint(3, (4,))) for _ in range(16)]
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda update: 0.9**update)
    train(model, loader, nn.CrossEntropyLoss(), optimizer, scheduler, accum_steps=4)


if __name__ == "__main__":
    main()
