import torch

from files import load_checkpoint
from state import State


class Trainer:
    def __init__(self, model, optimizer, path):
        self.state = State(model, optimizer)
        self.state.scaler = torch.amp.GradScaler()
        if path is not None:
            load_checkpoint(path, state=self.state)

    def train(self, loader, criterion):
        self.state.scaler = torch.amp.GradScaler()  # missed: scaler-not-restored
        for x, y in loader:
            self.state.optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                loss = criterion(self.state.model(x), y)
            self.state.scaler.scale(loss).backward()
            self.state.scaler.step(self.state.optimizer)
            self.state.scaler.update()
