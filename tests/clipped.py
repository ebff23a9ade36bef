"""A loop that clips while the gradients carry the loss scale, and the same put right."""

BAD = """\
import torch

scaler = torch.amp.GradScaler("cuda")
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for inputs, targets in loader:
    with torch.autocast("cuda", dtype=torch.float16):
        loss = criterion(model(inputs), targets)
    scaler.scale(loss).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
    optimizer.zero_grad()
"""
GOOD = BAD.replace("    torch.nn.utils", "    scaler.unscale_(optimizer)\n    torch.nn.utils")
