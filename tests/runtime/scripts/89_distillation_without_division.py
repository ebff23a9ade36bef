"""The divergence from a teacher is averaged over the batch, and nothing divides it by the window."""
# wrong: missing-loss-division

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
teacher, student = nn.Linear(6, 5).requires_grad_(False), nn.Linear(6, 5)
optimizer = torch.optim.SGD(student.parameters(), lr=1e-2)
criterion = nn.KLDivLoss(reduction="batchmean")
accumulate = 4
for step in range(8):
    x = torch.randn(8, 6)
    with torch.no_grad():
        soft = F.softmax(teacher(x), dim=-1)
    loss = criterion(F.log_softmax(student(x), dim=-1), soft)
    loss.backward()  # expect: missing-loss-division
    if (step + 1) % accumulate == 0:
        optimizer.step()
        optimizer.zero_grad()
