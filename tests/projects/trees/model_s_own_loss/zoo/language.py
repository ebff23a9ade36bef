import torch.nn as nn
import torch.nn.functional as F


class Language(nn.Module):
    def __init__(self, words):
        super().__init__()
        self.head = nn.Linear(16, words)

    def forward(self, tokens, targets=None):
        logits = self.head(tokens)
        if targets is None:
            return logits, None
        loss = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-1)
        return logits, loss
