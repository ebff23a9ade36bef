"""Two threads train; one is right, the other clips scaled gradients."""
# wrong: clip-before-unscale

import threading

import torch
from torch import nn


def train(unscales):
    model = nn.Linear(3, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=64.0)
    for _ in range(4):
        x, y = torch.randn(4, 3), torch.randint(2, (4,))
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            loss = nn.functional.cross_entropy(model(x), y)
        scaler.scale(loss).backward()
        if unscales:
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        else:
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # expect: clip-before-unscale
        scaler.step(optimizer)
        scaler.update()


threads = [threading.Thread(target=train, args=(unscales,)) for unscales in (True, False)]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
