"""Two flags are handed in: that they say the same is seen in the caller."""

import torch


def train_batch(cfg, criterion, model, optimizer, scaler, scaling, use_scaler, x, y):
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16 if use_scaler else torch.bfloat16, enabled=cfg.amp):
        loss = criterion(model(x), y)
    if scaling:
        scaler.scale(loss).backward()
    else:
        loss.backward()
    if not use_scaler:
        optimizer.step()
    else:
        scaler.step(optimizer)
        scaler.update()
