"""What makes the scaler and saves checkpoints; whoever derives from it trains."""

import torch


class Loop:
    def __init__(self, model):
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
        self.scaler = torch.amp.GradScaler("cuda")

    def save(self, path):
        torch.save({"model": self.model.state_dict(), "optimizer": self.optimizer.state_dict()}, path)

    def save_weights(self, path):
        torch.save(self.model.state_dict(), path)
