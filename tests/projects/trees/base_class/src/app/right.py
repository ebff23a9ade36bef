import torch
from engine import BaseTrainer, ClipMixin
from engine.options import ACCUMULATE


class Trainer(ClipMixin, BaseTrainer):
    def micro_step(self, batch):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = self.criterion(self.model(batch[0]), batch[1]) / ACCUMULATE
        self.scaler.scale(loss).backward()

    def update(self):
        self.scaler.unscale_(self.optimizer)
        self.clip()
        super().update()  # expect: misnormalized-tail-window


def main(model, criterion, loader):
    Trainer(model, criterion).fit(loader)
