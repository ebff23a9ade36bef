"""Means over 2, 12, 5 and 9 valid tokens are averaged: a token of the first micro-batch weighs six times another."""
# wrong: mean-of-token-means

import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Embedding(7, 8), nn.Linear(8, 7))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
counts = (2, 12, 5, 9)
for step in range(12):
    inputs, targets = torch.randint(7, (1, 12)), torch.randint(7, (1, 12))
    targets[0, counts[step % 4] :] = -100
    logits = model(inputs)
    loss = nn.functional.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=-100) / 4
    loss.backward()  # expect: mean-of-token-means
    if (step + 1) % 4 == 0:
        optimizer.step()
        optimizer.zero_grad()
