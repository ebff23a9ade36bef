"""The optimizer is made of what is left of the parameters."""

import torch
from trainer import Trainer


def main(model, loader):
    optimizer = torch.optim.Adam(filter(lambda p: p.requires_grad, model.parameters()), lr=1e-3)
    schedule = torch.optim.lr_scheduler.StepLR(optimizer, step_size=5)
    trainer = Trainer(model, torch.nn.CrossEntropyLoss(), optimizer, loader, 20, schedule)
    trainer.train()  # expect: epoch-scheduler-per-batch
