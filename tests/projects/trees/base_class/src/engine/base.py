import torch

from .options import ACCUMULATE


class BaseTrainer:
    def __init__(self, model, criterion):
        self.model, self.criterion = model, criterion
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        self.scaler = torch.amp.GradScaler("cuda")

    def update(self):
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad()

    def fit(self, loader):
        self.optimizer.zero_grad()
        for i, batch in enumerate(loader):
            self.micro_step(batch)
            if (i + 1) % ACCUMULATE == 0 or i + 1 == len(loader):
                self.update()
