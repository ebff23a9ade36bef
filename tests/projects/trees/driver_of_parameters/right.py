"""A schedule in batches, as the trainer steps it."""

import torch
from trainer import Trainer


def main(model, loader):
    optimizer = torch.optim.Adam([p for p in model.parameters() if p.requires_grad], lr=1e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=20 * len(loader))
    trainer = Trainer(model, torch.nn.CrossEntropyLoss(), optimizer, loader, 20, schedule)
    trainer.train()
