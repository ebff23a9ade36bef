"""A schedule in batches; a horizon that the environment gives; a class that waits for the rest of its arguments."""

import hydra
from engine.trainer import Trainer
from hydra.utils import instantiate


@hydra.main(version_base=None, config_path="conf", config_name="train")
def main(config):
    model = instantiate(config.model)
    for setting in (config.late, config.warmer):
        optimizer = instantiate(config.optimizer, params=model.parameters())
        schedule = instantiate(setting, optimizer=optimizer)
        Trainer(model, instantiate(config.loss), optimizer, schedule, instantiate(config.loader), config).train()
    optimizer = instantiate(config.optimizer, params=model.parameters())
    schedule = instantiate(config.warmer, optimizer=optimizer)
    Trainer(model, instantiate(config.loss), optimizer, schedule, instantiate(config.loader), config).train()
    optimizer = instantiate(config.optimizer, params=model.parameters())
    schedule = instantiate(config.part)
    print(schedule)
    Trainer(model, instantiate(config.loss), optimizer, None, instantiate(config.loader), config).train()
