"""A small engine with callbacks: precision, accumulation, clip and schedule are plug-ins called around the step."""

# right
import contextlib
from collections import defaultdict

import torch
import torch.nn as nn


class Engine:
    def __init__(self, model, optimizer, loss_fn):
        self.model, self.optimizer, self.loss_fn = model, optimizer, loss_fn
        self.handlers = defaultdict(list)
        self.state = {"iteration": 0, "update": 0, "epoch": 0}

    def on(self, event):
        def wrap(fn):
            self.handlers[event].append(fn)
            return fn

        return wrap

    def fire(self, event):
        for fn in self.handlers[event]:
            fn(self)

    def run(self, loader, epochs, precision, accumulate):
        for self.state["epoch"] in range(epochs):
            self.optimizer.zero_grad()
            for batch in loader:
                self.state["iteration"] += 1
                with precision.forward():
                    loss = self.loss_fn(self.model(batch[0]), batch[1])
                self.last = loss.item()
                precision.backward(loss / accumulate)
                if self.state["iteration"] % accumulate == 0:
                    precision.unscale(self.optimizer)
                    self.fire("before_step")
                    precision.step(self.optimizer)
                    self.optimizer.zero_grad()
                    self.state["update"] += 1
                    self.fire("after_step")
            self.fire("epoch_end")


class Full:
    forward = staticmethod(contextlib.nullcontext)

    def backward(self, loss):
        loss.backward()

    def unscale(self, optimizer):
        pass

    def step(self, optimizer):
        optimizer.step()


class Half(Full):
    def __init__(self):
        self.scaler = torch.amp.GradScaler("cpu", init_scale=256.0)

    def forward(self):
        return torch.autocast("cpu", dtype=torch.float16)

    def backward(self, loss):
        self.scaler.scale(loss).backward()

    def unscale(self, optimizer):
        self.scaler.unscale_(optimizer)

    def step(self, optimizer):
        self.scaler.step(optimizer)
        self.scaler.update()


for precision in (Full(), Half()):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 2))
    engine = Engine(model, torch.optim.SGD(model.parameters(), lr=0.1), nn.CrossEntropyLoss())
    schedule = torch.optim.lr_scheduler.MultiStepLR(engine.optimizer, milestones=[1], gamma=0.1)

    @engine.on("before_step")
    def clip(e):
        nn.utils.clip_grad_norm_(e.model.parameters(), 1.0)

    @engine.on("epoch_end")
    def decay(e):
        schedule.step()
        print(e.state, f"{e.last:.5f}", schedule.get_last_lr())

    loader = [(torch.randn(6, 4), torch.randint(2, (6,))) for _ in range(6)]
    engine.run(loader, epochs=2, precision=precision, accumulate=3)
