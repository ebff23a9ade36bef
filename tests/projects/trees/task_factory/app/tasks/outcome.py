from dataclasses import dataclass

import torch


@dataclass
class Outcome:
    loss: torch.Tensor
    tokens: torch.Tensor
    logs: tuple = ()


class Task:
    name: str = "task"

    def train_micro_step(self, model, batch, config):
        raise NotImplementedError
