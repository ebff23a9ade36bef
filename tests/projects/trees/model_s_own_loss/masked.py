import torch

from zoo.criterion import MaskedLoss


class Trainer:
    def __init__(self, model, args):
        self.model = model
        self.accum = args.accum
        self.compute_loss = MaskedLoss(1.0)
        self.optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    def fit(self, loader, epochs):
        for epoch in range(epochs):
            self.one_epoch(loader)

    def one_epoch(self, loader):
        for i, batch in enumerate(loader):
            self.one_step(i, batch, len(loader))

    def one_step(self, i, batch, last):
        tokens, targets, mask = batch
        loss, parts = self.compute_loss(self.model(tokens), targets, mask)
        loss.backward()  # expect: missing-loss-division
        if (i + 1) % self.accum == 0 or i + 1 == last:
            self.optimizer.step()
            self.optimizer.zero_grad()
