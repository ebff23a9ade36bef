import torch
from batches import train_batch


def train(cfg, model, loader, criterion, optimizer):
    use_scaler = cfg.amp and cfg.dtype == "float16"
    scaler = torch.amp.GradScaler("cuda") if use_scaler else None
    scaling = scaler is not None
    for x, y in loader:
        train_batch(cfg, criterion, model, optimizer, scaler, scaling, use_scaler, x, y)
