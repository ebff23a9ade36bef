"""Fabric: the window by hand."""

import torch
from lightning.fabric import Fabric
from torch import nn

torch.manual_seed(0)
N = 4
PLUGINS = None
fabric = Fabric(accelerator="cpu", plugins=PLUGINS)
fabric.launch()
model = nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, total_iters=12)
model, optimizer = fabric.setup(model, optimizer)
data = torch.utils.data.TensorDataset(torch.randn(96, 4), torch.randint(3, (96,)))
loader = fabric.setup_dataloaders(torch.utils.data.DataLoader(data, batch_size=4))
for epoch in range(2):
    for i, (x, y) in enumerate(loader):
        is_accumulating = (i + 1) % N != 0
        with fabric.no_backward_sync(model, enabled=is_accumulating):
            loss = nn.functional.cross_entropy(model(x), y) / N
            fabric.backward(loss)
        if not is_accumulating:
            fabric.clip_gradients(model, optimizer, max_norm=1.0)
            optimizer.step()
            scheduler.step()
            optimizer.zero_grad()
