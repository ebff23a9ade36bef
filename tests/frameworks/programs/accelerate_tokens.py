"""Accelerate: the loss of tokens, normalized over the window as Accelerate's documentation has it."""

import torch
from accelerate import Accelerator
from accelerate.utils import GradientAccumulationPlugin
from torch import nn

torch.manual_seed(0)
N = 4
plugin = GradientAccumulationPlugin(num_steps=N, sync_with_dataloader=False)
accelerator = Accelerator(gradient_accumulation_plugin=plugin, cpu=True)
model = nn.Sequential(nn.Embedding(16, 8), nn.Linear(8, 16))
optimizer = torch.optim.AdamW(model.parameters(), lr=0.01)
tokens = torch.randint(16, (64, 10))
labels = tokens.clone()
for row in labels:
    row[torch.randint(1, 9, ()) :] = -100
loader = torch.utils.data.DataLoader(torch.utils.data.TensorDataset(tokens, labels), batch_size=4)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
iterator = iter(loader)
for _ in range(len(loader) // N):
    batches = [next(iterator) for _ in range(N)]
    items = accelerator.gather(sum((y != -100).sum() for _, y in batches)).sum().item()
    for x, y in batches:
        with accelerator.accumulate(model):
            loss = nn.functional.cross_entropy(model(x).flatten(0, 1), y.flatten(), reduction="sum")
            loss = (loss * N * accelerator.num_processes) / items
            accelerator.backward(loss)
            optimizer.step()
            optimizer.zero_grad()
