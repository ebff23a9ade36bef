"""An engine with handlers: one for every iteration, one for every fourth."""

# right
from collections import defaultdict

import torch
from torch import nn


class Engine:
    def __init__(self, process):
        self.process, self.handlers, self.iteration = process, defaultdict(list), 0

    def on(self, event, every=1):
        def deco(f):
            self.handlers[event].append((every, f))
            return f

        return deco

    def fire(self, event):
        for every, f in self.handlers[event]:
            if self.iteration % every == 0:
                f(self)

    def run(self, data, epochs):
        for self.epoch in range(epochs):
            for batch in data:
                self.iteration += 1
                self.fire("started")
                self.output = self.process(self, batch)
                self.fire("completed")


torch.manual_seed(0)
model = nn.Linear(5, 2)
opt = torch.optim.SGD(model.parameters(), 0.1)
ACC = 4


def train_step(engine, batch):
    x, y = batch
    loss = nn.functional.cross_entropy(model(x), y) / ACC
    loss.backward()
    return loss.item()


trainer = Engine(train_step)


@trainer.on("completed", every=ACC)
def update(engine):
    opt.step()
    opt.zero_grad()
    print(engine.iteration, engine.output)


trainer.run([(torch.randn(4, 5), torch.randint(2, (4,))) for _ in range(8)], 2)
