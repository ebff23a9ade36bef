import torch
from engine import BaseTrainer


class Trainer(BaseTrainer):
    def micro_step(self, batch):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = self.criterion(self.model(batch[0]), batch[1])
        self.scaler.scale(loss).backward()  # expect: missing-loss-division


def main(model, criterion, loader):
    Trainer(model, criterion).fit(loader)
