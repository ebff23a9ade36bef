"""Sharpness-aware minimization: two backward passes for one update, weights moved by hand in between."""
# right

import torch
from torch import nn


class SharpnessAware(torch.optim.Optimizer):
    def __init__(self, params, rho=0.05, **kwargs):
        super().__init__(params, {"rho": rho, **kwargs})
        self.inner = torch.optim.SGD(self.param_groups, **kwargs)
        self.param_groups = self.inner.param_groups

    @torch.no_grad()
    def first_step(self):
        norm = torch.stack([p.grad.norm() for group in self.param_groups for p in group["params"]]).norm()
        for group in self.param_groups:
            for p in group["params"]:
                climb = p.grad * (group["rho"] / (norm + 1e-12))
                p.add_(climb)
                self.state[p]["climb"] = climb
        self.zero_grad()

    @torch.no_grad()
    def second_step(self):
        for group in self.param_groups:
            for p in group["params"]:
                p.sub_(self.state[p]["climb"])
        self.inner.step()
        self.zero_grad()

    def step(self, closure=None):
        raise NotImplementedError("call first_step and second_step")


torch.manual_seed(0)
model = nn.Linear(4, 2)
optimizer = SharpnessAware(model.parameters(), lr=0.1, momentum=0.9)
for _ in range(4):
    x, y = torch.randn(8, 4), torch.randint(2, (8,))
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.first_step()
    nn.functional.cross_entropy(model(x), y).backward()
    optimizer.second_step()
