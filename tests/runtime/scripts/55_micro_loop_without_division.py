"""An inner loop over micro-steps in mixed precision; what is divided is only what is logged."""
# wrong: missing-loss-division

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(1337)
gradient_accumulation_steps = 5
model = nn.Sequential(nn.Embedding(9, 8), nn.Linear(8, 9))
optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
scaler = torch.amp.GradScaler("cpu", init_scale=128.0)
ctx = torch.autocast("cpu", dtype=torch.float16)
for _iteration in range(3):
    logged = 0.0
    for _micro_step in range(gradient_accumulation_steps):
        tokens = torch.randint(9, (3, 6))
        with ctx:
            logits = model(tokens[:, :-1])
            loss = F.cross_entropy(logits.flatten(0, 1), tokens[:, 1:].flatten())
        logged += loss.item() / gradient_accumulation_steps
        scaler.scale(loss).backward()  # expect: missing-loss-division
    scaler.unscale_(optimizer)
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad(set_to_none=True)
