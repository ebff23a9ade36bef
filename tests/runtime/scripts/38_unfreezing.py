"""A frozen backbone that joins the optimizer later, as a second parameter group."""
# right

import torch
from torch import nn

torch.manual_seed(0)
backbone, head = nn.Linear(4, 8), nn.Linear(8, 2)
backbone.requires_grad_(False)
optimizer = torch.optim.SGD(head.parameters(), lr=0.1)
accumulate = 2
for step in range(12):
    if step == 4:
        backbone.requires_grad_(True)
        optimizer.add_param_group({"params": backbone.parameters(), "lr": 0.01})
    x, y = torch.randn(4, 4), torch.randint(2, (4,))
    loss = nn.functional.cross_entropy(head(torch.relu(backbone(x))), y) / accumulate
    loss.backward()
    if step % accumulate == accumulate - 1:
        nn.utils.clip_grad_norm_([p for p in (*backbone.parameters(), *head.parameters()) if p.requires_grad], 1.0)
        optimizer.step()
        optimizer.zero_grad()
