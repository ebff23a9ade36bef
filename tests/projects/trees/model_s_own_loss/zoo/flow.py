import torch.nn as nn
import torch.nn.functional as F


class Flow(nn.Module):
    def __init__(self, net):
        super().__init__()
        self.net = net

    def forward(self, noise, target, mask):
        predicted = self.net(noise)
        loss = F.mse_loss(predicted, target, reduction="none")
        loss = loss[mask]
        return loss.mean(), predicted
