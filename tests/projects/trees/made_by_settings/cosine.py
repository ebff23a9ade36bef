import hydra
from engine.trainer import Trainer
from hydra.utils import instantiate


@hydra.main(version_base=None, config_path="conf", config_name="train")
def main(cfg):
    model = instantiate(cfg.model)
    optimizer = instantiate(cfg.optimizer, params=[p for p in model.parameters() if p.requires_grad])
    schedule = instantiate(cfg.cosine, optimizer=optimizer)  # expect: scheduler-horizon-mismatch
    trainer = Trainer(model, instantiate(cfg.loss), optimizer, schedule, instantiate(cfg.loader), cfg)
    trainer.train()
