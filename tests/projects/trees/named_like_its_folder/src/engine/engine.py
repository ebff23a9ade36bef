"""A module that is called like the package that it is in: what else is in the package is looked for there."""

import torch
from engine.build import copied, sharded
from torch import nn


class Engine:
    def __init__(self, model, device):
        self.model = sharded(model, device)
        self.scaler = torch.amp.GradScaler("cuda")  # expect: fsdp-plain-scaler
        self.optimizer = torch.optim.AdamW(self.model.parameters())

    def fit(self, loader):
        for x, y in loader:
            self.optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                loss = nn.functional.cross_entropy(self.model(x), y)
            self.scaler.scale(loss).backward()
            self.scaler.unscale_(self.optimizer)
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)  # expect: fsdp-local-clip
            self.scaler.step(self.optimizer)
            self.scaler.update()


class Copied:
    def __init__(self, model, device):
        self.model = copied(model, device)
        self.scaler = torch.amp.GradScaler("cuda")
        self.optimizer = torch.optim.AdamW(self.model.parameters())

    def fit(self, loader):
        for x, y in loader:
            self.optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                loss = nn.functional.cross_entropy(self.model(x), y)
            self.scaler.scale(loss).backward()
            self.scaler.unscale_(self.optimizer)
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.scaler.step(self.optimizer)
            self.scaler.update()
