"""The optimizer steps in the backward: one small optimizer for each parameter, in a post-accumulate hook."""

# right
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 12), nn.ReLU(), nn.Linear(12, 3))
optimizers = {p: torch.optim.Adam([p], lr=1e-2, foreach=False) for p in model.parameters()}


def optimizer_hook(parameter):
    optimizers[parameter].step()
    optimizers[parameter].zero_grad()


for p in model.parameters():
    p.register_post_accumulate_grad_hook(optimizer_hook)

criterion = nn.CrossEntropyLoss()
for step in range(8):
    x, y = torch.randn(8, 6), torch.randint(3, (8,))
    loss = criterion(model(x), y)
    loss.backward()
    print(step, f"{loss.item():.6f}")
