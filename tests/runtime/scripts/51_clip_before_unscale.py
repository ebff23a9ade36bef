"""A plain function that clips at the boundary, but forgets to unscale first."""
# wrong: clip-before-unscale

import torch
from torch import nn


def train(model, loader, optimizer, scaler, accum_steps):
    for step, (inputs, targets) in enumerate(loader):
        with torch.autocast("cpu", dtype=torch.float16):
            loss = nn.functional.cross_entropy(model(inputs), targets) / accum_steps
        scaler.scale(loss).backward()
        if (step + 1) % accum_steps == 0:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # expect: clip-before-unscale
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()


torch.manual_seed(0)
network = nn.Linear(6, 3)
train(
    network,
    [(torch.randn(4, 6), torch.randint(3, (4,))) for _ in range(12)],
    torch.optim.SGD(network.parameters(), lr=0.1),
    torch.amp.GradScaler("cpu", init_scale=1024.0),
    accum_steps=4,
)
