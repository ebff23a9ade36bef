import torch
from ranks import Ranks
from torch.distributed.fsdp.sharded_grad_scaler import ShardedGradScaler


class Trainer:
    def __init__(self, net, fully):
        self.ranks = Ranks()
        self.model = self.ranks.spread(net, fully=fully)
        self.optimizer = torch.optim.AdamW(self.model.parameters())
        self.scaler = torch.amp.GradScaler("cuda")  # expect: fsdp-plain-scaler

    def train(self, loader):
        for x in loader:
            self.optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                loss = self.model(x).loss
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()


class ShardedTrainer:
    def __init__(self, net, fully):
        self.ranks = Ranks()
        self.model = self.ranks.spread(net, fully=fully)
        self.optimizer = torch.optim.AdamW(self.model.parameters())
        self.scaler = ShardedGradScaler()

    def train(self, loader):
        for x in loader:
            self.optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                loss = self.model(x).loss
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()


class WholeTrainer:
    def __init__(self, net):
        self.ranks = Ranks()
        self.model = self.ranks.copy(net)
        self.optimizer = torch.optim.AdamW(self.model.parameters())
        self.scaler = torch.amp.GradScaler("cuda")

    def train(self, loader):
        for x in loader:
            self.optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                loss = self.model(x).loss
            self.scaler.scale(loss).backward()
            self.scaler.step(self.optimizer)
            self.scaler.update()
