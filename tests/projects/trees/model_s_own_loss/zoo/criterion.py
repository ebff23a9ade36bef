import torch.nn as nn


class MaskedLoss(nn.Module):
    def __init__(self, weight):
        super().__init__()
        self.each = nn.CrossEntropyLoss(reduction="none")
        self.weight = weight

    def forward(self, logits, targets, mask):
        losses = self.each(logits, targets) * mask
        return losses.sum() / mask.sum(), losses.detach()


class SummedLoss(nn.Module):
    def __init__(self):
        super().__init__()
        self.each = nn.CrossEntropyLoss(reduction="none")

    def forward(self, logits, targets, mask):
        losses = self.each(logits, targets) * mask
        return losses.sum(), losses.detach()
