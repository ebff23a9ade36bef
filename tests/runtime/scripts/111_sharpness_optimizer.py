"""Sharpness-aware minimization as an optimizer class: two steps called one by one, or a closure wrapped by enable_grad."""

# right
import torch
from torch import nn


class SAM(torch.optim.Optimizer):
    def __init__(self, params, base_optimizer, rho=0.05, adaptive=False, **kwargs):
        defaults = dict(rho=rho, adaptive=adaptive, **kwargs)
        super().__init__(params, defaults)
        self.base_optimizer = base_optimizer(self.param_groups, **kwargs)
        self.param_groups = self.base_optimizer.param_groups
        self.defaults.update(self.base_optimizer.defaults)

    @torch.no_grad()
    def first_step(self, zero_grad=False):
        norm = torch.norm(
            torch.stack([p.grad.norm(p=2) for g in self.param_groups for p in g["params"] if p.grad is not None]), p=2
        )
        for group in self.param_groups:
            scale = group["rho"] / (norm + 1e-12)
            for p in group["params"]:
                if p.grad is None:
                    continue
                self.state[p]["old_p"] = p.data.clone()
                p.add_(p.grad * scale.to(p))
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def second_step(self, zero_grad=False):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                p.data = self.state[p]["old_p"]
        self.base_optimizer.step()
        if zero_grad:
            self.zero_grad()

    @torch.no_grad()
    def step(self, closure=None):
        closure = torch.enable_grad()(closure)
        self.first_step(zero_grad=True)
        closure()
        self.second_step()


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 16), nn.ReLU(), nn.Linear(16, 3))
opt = SAM(model.parameters(), torch.optim.SGD, rho=0.05, lr=0.1, momentum=0.9)
sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt.base_optimizer, T_max=8)
ce = nn.CrossEntropyLoss()
for epoch in range(2):
    for it in range(4):
        x, y = torch.randn(8, 4), torch.randint(3, (8,))
        loss = ce(model(x), y)
        loss.backward()
        opt.first_step(zero_grad=True)
        ce(model(x), y).backward()
        opt.second_step(zero_grad=True)
        sched.step()
        print(epoch, it, loss.item())
for it in range(3):
    x, y = torch.randn(8, 4), torch.randint(3, (8,))

    def closure():
        loss = ce(model(x), y)
        loss.backward()
        return loss

    loss = ce(model(x), y)
    loss.backward()
    opt.step(closure)
    opt.zero_grad()
    print("closure", loss.item())
