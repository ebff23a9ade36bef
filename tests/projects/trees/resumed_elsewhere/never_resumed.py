import torch
from accelerate import Accelerator


class Trainer:
    def __init__(self, model, optimizer):
        self.accelerator = Accelerator(mixed_precision="fp16")
        self.model, self.optimizer = self.accelerator.prepare(model, optimizer)

    def run(self, loader, path):
        for batch in loader:
            self.optimizer.zero_grad()
            self.accelerator.backward(self.model(**batch).loss)
            self.optimizer.step()
        held = {"model": self.accelerator.get_state_dict(self.model), "optimizer": self.optimizer.state_dict()}
        torch.save(held, path)
