"""A helper with a scaler parameter whose clip, bound early, comes before unscale_; the loss is right."""
# wrong: clip-before-unscale

import torch
from torch import nn
from torch.nn.utils import clip_grad_value_


def apply_update(optimizer, parameters, scaler, limit):
    if limit is not None:
        clip_grad_value_(parameters, limit)  # expect: clip-before-unscale
    scaler.unscale_(optimizer)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()


def main():
    torch.manual_seed(0)
    model = nn.Linear(5, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    scaler = torch.amp.GradScaler("cpu", init_scale=512.0)
    for index in range(9):
        inputs, targets = torch.randn(4, 5), torch.randn(4, 2)
        with torch.autocast("cpu", dtype=torch.float16):
            loss = nn.functional.mse_loss(model(inputs), targets)
        scaler.scale(loss / 3).backward()
        if index % 3 == 2:
            apply_update(optimizer, list(model.parameters()), scaler, limit=0.5)


main()
