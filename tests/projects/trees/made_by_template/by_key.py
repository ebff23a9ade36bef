import models
import torch
from trainer import Trainer


def main(config):
    model = config.init_obj("arch", models)
    trainable = filter(lambda p: p.requires_grad, model.parameters())
    optimizer = config.init_obj("optimizer", torch.optim, trainable)
    lr_scheduler = config.init_obj("lr_scheduler", torch.optim.lr_scheduler, optimizer)
    trainer = Trainer(model, models.loss, optimizer, config, models.loader(config), lr_scheduler)
    trainer.train()  # expect: epoch-scheduler-per-batch
