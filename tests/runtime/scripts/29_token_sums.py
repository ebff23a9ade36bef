"""Token losses as sums, divided by the valid tokens of the whole window: every token weighs the same."""
# right

import torch
from torch import nn

torch.manual_seed(0)
vocabulary, padding = 7, -100
model = nn.Sequential(nn.Embedding(vocabulary, 8), nn.Linear(8, vocabulary))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
criterion = nn.CrossEntropyLoss(ignore_index=padding, reduction="sum")


def batch(valid):
    targets = torch.randint(vocabulary, (1, 12))
    targets[0, valid:] = padding
    return torch.randint(vocabulary, (1, 12)), targets


for _ in range(3):
    window = [batch(valid) for valid in (2, 12, 5, 9)]
    tokens = sum(int((targets != padding).sum()) for _, targets in window)
    optimizer.zero_grad()
    for inputs, targets in window:
        logits = model(inputs)
        loss = criterion(logits.flatten(0, 1), targets.flatten()) / tokens
        loss.backward()
    optimizer.step()
