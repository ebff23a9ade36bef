import torch

from parts.ranks import Spread, spread


def train(model, args, windows):
    model = spread(model, args.rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for window in windows:
        for k in range(args.accum_steps):
            loss = torch.nn.functional.cross_entropy(model(window[k].x), window[k].y)
            (loss / args.accum_steps).backward()  # expect: missing-no-sync
        optimizer.step()
        optimizer.zero_grad()


class Trainer(Spread):
    def __init__(self, model, args):
        self.model = model
        self.args = args
        self.spread(args.rank)
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def train(self, windows):
        for window in windows:
            for k in range(self.args.accum_steps):
                loss = torch.nn.functional.cross_entropy(self.model(window[k].x), window[k].y)
                (loss / self.args.accum_steps).backward()  # expect: missing-no-sync
            self.optimizer.step()
            self.optimizer.zero_grad()
