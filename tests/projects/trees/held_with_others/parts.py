import os
from dataclasses import dataclass

import torch
from pydantic import BaseModel


class Parts(BaseModel):
    model: torch.nn.Module
    optimizer: torch.optim.Optimizer
    folder: str = "out"

    def has_a_folder(self):
        if not os.path.isdir(self.folder):
            return False
        return os.access(self.folder, os.W_OK)


class Holder(object):
    def __init__(self, model, optimizer, folder):
        self.model = model
        self.optimizer = optimizer
        self.folder = folder

    def name(self):
        return os.path.basename(self.folder)


@dataclass
class State:
    model: torch.nn.Module
    optimizer: torch.optim.Optimizer
    epoch: int = 0

    def says(self):
        return f"epoch {self.epoch}"
