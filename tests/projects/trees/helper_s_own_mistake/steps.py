import torch


def scaled_step(scaler, optimizer, loss, model):
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # expect: clip-before-unscale
    scaler.step(optimizer)
    scaler.update()
