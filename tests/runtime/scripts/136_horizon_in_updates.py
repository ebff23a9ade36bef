"""A cosine whose horizon counts updates is stepped once per epoch; epochs are loops over ranges."""

# wrong: scheduler-horizon-mismatch
import torch
from torch import nn

torch.manual_seed(0)
m = nn.Linear(4, 2)
o = torch.optim.SGD(m.parameters(), 0.1)
E, B = 4, 6
sch = torch.optim.lr_scheduler.CosineAnnealingLR(o, T_max=E * B)  # expect: scheduler-horizon-mismatch
for epoch in range(E):
    for b in range(B):
        o.zero_grad()
        nn.functional.mse_loss(m(torch.randn(3, 4)), torch.zeros(3, 2)).backward()
        o.step()
    sch.step()
    print(epoch)
