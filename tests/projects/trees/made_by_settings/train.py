import hydra
from engine.trainer import Trainer
from hydra.utils import instantiate


@hydra.main(version_base=None, config_path="conf", config_name="train")
def main(config):
    model = instantiate(config.model)
    optimizer = instantiate(config.optimizer, params=model.parameters())
    lr_scheduler = instantiate(config.lr_scheduler, optimizer=optimizer)
    trainer = Trainer(model, instantiate(config.loss), optimizer, lr_scheduler, instantiate(config.loader), config)
    trainer.train()  # expect: epoch-scheduler-per-batch
