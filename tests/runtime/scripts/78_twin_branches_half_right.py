"""AMP twins: the float32 branch divides and clips well, the float16 branch clips too early and adds whole losses."""
# wrong: clip-before-unscale, missing-loss-division

import torch
from torch import nn


def run(use_amp, accumulate=3):
    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=64.0, enabled=use_amp)
    for step in range(9):
        x, y = torch.randn(4, 4), torch.randint(2, (4,))
        boundary = (step + 1) % accumulate == 0
        if use_amp:
            with torch.autocast("cpu", dtype=torch.float16):
                loss = nn.functional.cross_entropy(model(x), y)
            scaler.scale(loss).backward()  # expect: missing-loss-division
            if boundary:
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # expect: clip-before-unscale
                scaler.step(optimizer)
                scaler.update()
        else:
            loss = nn.functional.cross_entropy(model(x), y) / accumulate
            loss.backward()
            if boundary:
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
        if boundary:
            optimizer.zero_grad()


run(use_amp=False)
run(use_amp=True)
