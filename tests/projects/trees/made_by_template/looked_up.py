import models
import torch
from trainer import Trainer


def main(config):
    model = models.build(config)
    optimizer = getattr(torch.optim, config["optimizer"]["type"])(model.parameters(), **config["optimizer"]["args"])
    lr_scheduler = getattr(torch.optim.lr_scheduler, config["lr_scheduler"]["type"])(
        optimizer, **config["lr_scheduler"]["args"]
    )
    trainer = Trainer(model, models.loss, optimizer, config, models.loader(config), lr_scheduler)
    trainer.train()  # expect: epoch-scheduler-per-batch
