"""MAML: tasks are the micro-batches of an outer update; the inner steps differentiate through themselves."""

# right
import torch
import torch.nn as nn
from torch.func import functional_call


def sample_task(g):
    amplitude, phase = torch.rand(1, generator=g) * 4 + 0.1, torch.rand(1, generator=g) * 3.14
    x = torch.rand(20, 1, generator=g) * 10 - 5
    return x, amplitude * torch.sin(x + phase)


class MAML:
    def __init__(self, model, inner_lr=0.01, inner_steps=2):
        self.model, self.inner_lr, self.inner_steps = model, inner_lr, inner_steps
        self.loss = nn.MSELoss()

    def adapt(self, x, y):
        weights = dict(self.model.named_parameters())
        for _ in range(self.inner_steps):
            loss = self.loss(functional_call(self.model, weights, (x,)), y)
            grads = torch.autograd.grad(loss, list(weights.values()), create_graph=True)
            weights = {n: w - self.inner_lr * g for (n, w), g in zip(weights.items(), grads)}
        return weights


def main():
    torch.manual_seed(0)
    g = torch.Generator().manual_seed(1)
    model = nn.Sequential(nn.Linear(1, 20), nn.Tanh(), nn.Linear(20, 1))
    maml = MAML(model)
    meta_optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    tasks_per_update = 4
    for it in range(4):
        meta_optimizer.zero_grad()
        total = 0.0
        for _ in range(tasks_per_update):
            x, y = sample_task(g)
            weights = maml.adapt(x[:10], y[:10])
            outer = maml.loss(functional_call(model, weights, (x[10:],)), y[10:]) / tasks_per_update
            outer.backward()
            total += outer.item()
        nn.utils.clip_grad_norm_(model.parameters(), 10.0)
        meta_optimizer.step()
        print(it, f"{total:.6f}")


main()
