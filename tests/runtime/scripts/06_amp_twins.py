"""One branch with a scaler, one without; the condition is spelled three ways. Both are run."""
# right

import contextlib

import torch
from torch import nn


class Config:
    def __init__(self, fp16):
        self.fp16 = fp16
        self.accum = 2
        self.max_norm = 1.0


def run(config):
    torch.manual_seed(3)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cpu", init_scale=64.0) if config.fp16 else None
    for step in range(6):
        x, y = torch.randn(8, 4), torch.randn(8, 1)
        context = torch.autocast("cpu", dtype=torch.float16) if config.fp16 else contextlib.nullcontext()
        with context:
            loss = nn.functional.mse_loss(model(x), y) / config.accum
        if config.fp16:
            scaler.scale(loss).backward()
        else:
            loss.backward()
        if (step + 1) % config.accum:
            continue
        if scaler is not None:
            scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), config.max_norm)
        if scaler:
            scaler.step(optimizer)
            scaler.update()
        else:
            optimizer.step()
        optimizer.zero_grad()


if __name__ == "__main__":
    for fp16 in (True, False):
        run(Config(fp16))
