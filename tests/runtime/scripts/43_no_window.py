"""No accumulation at all: one batch, one step, in mixed precision, with a schedule per batch and another per epoch."""
# right

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
loader = DataLoader(TensorDataset(torch.randn(16, 4), torch.randint(2, (16,))), batch_size=4, shuffle=True)
model = nn.Linear(4, 2)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=0.1, total_steps=2 * len(loader))
second = nn.Linear(4, 2)
second_optimizer = torch.optim.SGD(second.parameters(), lr=0.1)
per_epoch = torch.optim.lr_scheduler.StepLR(second_optimizer, step_size=1, gamma=0.5)
scaler = torch.amp.GradScaler("cpu", init_scale=64.0)
for _ in range(2):
    for x, y in loader:
        optimizer.zero_grad()
        second_optimizer.zero_grad()
        with torch.autocast("cpu", dtype=torch.float16):
            loss = nn.functional.cross_entropy(model(x), y)
            distance = nn.functional.mse_loss(second(x), model(x).detach().float())
        scaler.scale(loss).backward()
        scaler.scale(distance).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.step(second_optimizer)
        scaler.update()
        scheduler.step()
    per_epoch.step()
