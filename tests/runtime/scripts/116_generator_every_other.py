"""The generator is updated on every other iteration, from a loss that there is only then: nothing accumulates."""

# right
import torch
from torch import nn

torch.manual_seed(0)
G, D = nn.Linear(3, 4), nn.Linear(4, 1)
og, od = torch.optim.Adam(G.parameters(), 1e-3), torch.optim.Adam(D.parameters(), 1e-3)
N = 2
for k in range(12):
    z = torch.randn(6, 3)
    ld = nn.functional.softplus(D(G(z).detach())).mean() + nn.functional.softplus(-D(torch.randn(6, 4))).mean()
    od.zero_grad()
    ld.backward()
    od.step()
    if (k + 1) % N == 0:
        lg = nn.functional.softplus(-D(G(z))).mean() / N
        og.zero_grad()
        lg.backward()
        og.step()
        print(k, lg.item())
