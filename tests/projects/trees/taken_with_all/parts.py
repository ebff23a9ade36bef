import torch
import torch.nn as nn
from torch import optim

__all__ = ["Head", "hidden", "nn", "optim", "torch", "update"]


class Head(nn.Module):
    def forward(self, x):
        return x


def update(scaler, optimizer, net):
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()


if True:
    hidden = Head()
