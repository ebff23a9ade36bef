"""Projects conflicting gradients of two tasks: each task's gradient is taken by itself, the sum is set by hand."""

# right
import torch
from torch import nn


class PCGrad:
    def __init__(self, optimizer):
        self.optimizer = optimizer
        self.params = [p for g in optimizer.param_groups for p in g["params"]]

    def backward(self, losses):
        grads = []
        for loss in losses:
            self.optimizer.zero_grad()
            loss.backward(retain_graph=True)
            grads.append(
                torch.cat([(p.grad if p.grad is not None else torch.zeros_like(p)).flatten() for p in self.params])
            )
        merged = []
        for i, g in enumerate(grads):
            g = g.clone()
            for j, h in enumerate(grads):
                dot = torch.dot(g, h)
                if i != j and dot < 0:
                    g -= dot / (h.norm() ** 2 + 1e-12) * h
            merged.append(g)
        flat, at = torch.stack(merged).mean(0), 0
        for p in self.params:
            p.grad = flat[at : at + p.numel()].view_as(p).clone()
            at += p.numel()

    def step(self):
        self.optimizer.step()
        self.optimizer.zero_grad()


torch.manual_seed(0)
trunk, head_a, head_b = nn.Linear(5, 8), nn.Linear(8, 1), nn.Linear(8, 1)
params = [*trunk.parameters(), *head_a.parameters(), *head_b.parameters()]
pc = PCGrad(torch.optim.SGD(params, lr=0.1))
for step in range(6):
    x = torch.randn(10, 5)
    h = torch.relu(trunk(x))
    la = nn.functional.mse_loss(head_a(h), x[:, :1])
    lb = nn.functional.mse_loss(head_b(h), -x[:, :1])
    pc.backward([la, lb])
    pc.step()
    print(step, f"{la.item():.6f} {lb.item():.6f}")
