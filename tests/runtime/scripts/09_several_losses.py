"""Two losses in one micro-step, back-propagated one after the other, and a third that is added to the second."""
# right

import torch
from torch import nn
from torch.nn import functional as F


class TwoHeads(nn.Module):
    def __init__(self):
        super().__init__()
        self.trunk = nn.Linear(6, 8)
        self.label = nn.Linear(8, 3)
        self.value = nn.Linear(8, 1)

    def forward(self, x):
        hidden = torch.tanh(self.trunk(x))
        return self.label(hidden), self.value(hidden)


torch.manual_seed(0)
model = TwoHeads()
optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
accumulation = 2
for step in range(8):
    x, label, value = torch.randn(5, 6), torch.randint(3, (5,)), torch.randn(5, 1)
    logits, estimate = model(x)
    loss_label = F.cross_entropy(logits, label) / accumulation
    loss_value = (F.mse_loss(estimate, value) + F.l1_loss(estimate, value)) / accumulation
    loss_label.backward(retain_graph=True)
    loss_value.backward()
    if (step + 1) % accumulation == 0:
        optimizer.step()
        optimizer.zero_grad()
