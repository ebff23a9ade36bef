"""Two models are trained at the same time in two threads, each with its own optimizer and scaler."""
# right

import threading

import torch
from torch import nn

start = threading.Barrier(2)


def train(width, accumulate):
    model = nn.Linear(width, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=64.0)
    start.wait()
    for step in range(4 * accumulate):
        x, y = torch.randn(4, width), torch.randint(2, (4,))
        with torch.autocast("cpu", dtype=torch.float16):
            loss = nn.functional.cross_entropy(model(x), y) / accumulate
        scaler.scale(loss).backward()
        if (step + 1) % accumulate == 0:
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()


threads = [threading.Thread(target=train, args=arguments) for arguments in ((3, 2), (5, 3))]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join()
