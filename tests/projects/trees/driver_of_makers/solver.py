import torch
from torch.optim.lr_scheduler import CosineAnnealingLR


def build_optimizer(cfg, model):
    groups = []
    for value in model.parameters():
        if value.requires_grad:
            groups += [{"params": [value], "lr": cfg.RATE}]
    return getattr(torch.optim, cfg.OPTIMIZER)(groups)


def build_scheduler(cfg, optimizer):
    return CosineAnnealingLR(optimizer, T_max=cfg.MAX_EPOCHS, eta_min=1e-6)  # the driver's finding is of this one
