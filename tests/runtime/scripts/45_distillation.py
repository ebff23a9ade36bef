"""A student learns from a teacher: a divergence averaged over the batch, and the hard labels, both divided."""
# right

import torch
from torch import nn
from torch.nn import functional as F

torch.manual_seed(0)
teacher, student = nn.Linear(6, 5).requires_grad_(False), nn.Linear(6, 5)
optimizer = torch.optim.AdamW(student.parameters(), lr=1e-2)
scaler = torch.amp.GradScaler("cpu", init_scale=256.0)
accumulate, temperature = 2, 2.0
for step in range(8):
    x, y = torch.randn(8, 6), torch.randint(5, (8,))
    with torch.no_grad():
        soft = F.softmax(teacher(x) / temperature, dim=-1)
    with torch.autocast("cpu", dtype=torch.float16):
        logits = student(x)
        far = F.kl_div(F.log_softmax(logits / temperature, dim=-1), soft, reduction="batchmean") * temperature**2
        loss = (0.5 * far + 0.5 * F.cross_entropy(logits, y)) / accumulate
    scaler.scale(loss).backward()
    if (step + 1) % accumulate == 0:
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(student.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad()
