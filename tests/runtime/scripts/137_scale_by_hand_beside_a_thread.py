"""A loss scale by hand is divided out unasked, while another thread writes what is logged."""

# wrong: unchecked-manual-scale
import queue
import threading

import torch
from torch import nn

torch.manual_seed(0)
lines: queue.Queue[str | None] = queue.Queue()
writer = threading.Thread(target=lambda: [print(line) for line in iter(lines.get, None)])
writer.start()
model = nn.Linear(6, 3)
opt = torch.optim.SGD(model.parameters(), lr=0.1)
LOSS_SCALE = 1024.0
for step in range(6):
    x, y = torch.randn(4, 6), torch.randint(3, (4,))
    opt.zero_grad()
    loss = nn.functional.cross_entropy(model(x), y)
    (loss * LOSS_SCALE).backward()
    for p in model.parameters():
        if p.grad is not None:
            p.grad /= LOSS_SCALE
    opt.step()  # expect: unchecked-manual-scale
    lines.put(f"{step} {loss.item()}")
lines.put(None)
writer.join()
