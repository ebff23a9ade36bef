"""One optimizer of each kind of implementation: for-loop, foreach, fused, and one written by hand that calls super."""
# right

import torch
from torch import nn


class Counting(torch.optim.AdamW):
    steps = 0

    def step(self, closure=None):
        self.steps += 1
        return super().step(closure)


def train(make):
    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    optimizer = make(model.parameters())
    scaler = torch.amp.GradScaler("cpu", init_scale=16.0)
    for step in range(6):
        x, y = torch.randn(4, 4), torch.randint(2, (4,))
        with torch.autocast("cpu", dtype=torch.float16):
            loss = nn.functional.cross_entropy(model(x), y)
        scaler.scale(loss / 2).backward()
        if (step + 1) % 2 == 0:
            scaler.step(optimizer)
            scaler.update()
            optimizer.zero_grad()
    return optimizer


train(lambda parameters: torch.optim.AdamW(parameters, foreach=False))
train(lambda parameters: torch.optim.AdamW(parameters, foreach=True))
train(lambda parameters: torch.optim.AdamW(parameters, fused=True))
train(lambda parameters: torch.optim.SGD(parameters, lr=0.1, fused=True))
assert train(Counting).steps == 3
