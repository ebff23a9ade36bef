"""The files do not agree about what `decay` is."""

import models
import torch
from trainer import Trainer


def main(config):
    model = config.init_obj("arch", models)
    optimizer = config.init_obj("optimizer", torch.optim, model.parameters())
    lr_scheduler = config.init_obj("decay", torch.optim.lr_scheduler, optimizer)
    trainer = Trainer(model, models.loss, optimizer, config, models.loader(config), lr_scheduler)
    trainer.train()
