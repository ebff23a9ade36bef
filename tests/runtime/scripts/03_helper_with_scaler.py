"""Helpers that take the scaler as a parameter, and work without one too."""
# right

import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_


def back_propagate(loss, scaler=None):
    if scaler is not None:
        loss = scaler.scale(loss)
    loss.backward()


def apply_update(optimizer, parameters, scaler=None, max_norm=1.0):
    if scaler is not None:
        scaler.unscale_(optimizer)
    clip_grad_norm_(parameters, max_norm)
    if scaler is not None:
        scaler.step(optimizer)
        scaler.update()
    else:
        optimizer.step()
    optimizer.zero_grad()


def train(scaler):
    model = nn.Linear(5, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    accumulate = 3
    for index in range(9):
        inputs, targets = torch.randn(4, 5), torch.randn(4, 2)
        with torch.autocast("cpu", dtype=torch.float16, enabled=scaler is not None):
            loss = nn.functional.mse_loss(model(inputs), targets)
        back_propagate(loss / accumulate, scaler)
        if (index + 1) % accumulate == 0:
            apply_update(optimizer, list(model.parameters()), scaler)


if __name__ == "__main__":
    torch.manual_seed(0)
    train(scaler=torch.amp.GradScaler("cpu", init_scale=512.0))
    train(scaler=None)
