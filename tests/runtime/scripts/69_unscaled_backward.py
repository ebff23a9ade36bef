"""The scaler steps and updates, but nobody scales the loss: updates are 1024 times too small."""
# wrong: unscaled-backward
# exits: 1

import torch
from torch import nn


def main():
    torch.manual_seed(0)
    model = nn.Linear(4, 2)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
    for _ in range(4):
        x, y = torch.randn(4, 4), torch.randint(2, (4,))
        optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()  # expect: unscaled-backward
        scaler.step(optimizer)
        scaler.update()


main()
