"""An optimizer wrapper whose step unscales, clips, steps, updates, zeroes and schedules, with callbacks around it."""
# right

import torch
from torch import nn


class Stepper:
    def __init__(self, optimizer, scaler, parameters, scheduler, max_norm):
        self.optimizer, self.scaler, self.scheduler = optimizer, scaler, scheduler
        self.parameters, self.max_norm = list(parameters), max_norm
        self.norms = []

    def backward(self, loss):
        self.scaler.scale(loss).backward()

    def step(self):
        self.scaler.unscale_(self.optimizer)
        self.norms.append(nn.utils.clip_grad_norm_(self.parameters, self.max_norm))
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad()
        self.scheduler.step()


class Loop:
    def __init__(self, stepper, accumulate):
        self.stepper, self.accumulate, self.callbacks = stepper, accumulate, []

    def on_batch_end(self, callback):
        self.callbacks.append(callback)
        return callback

    def run(self, losses):
        for index, loss in enumerate(losses):
            self.stepper.backward(loss / self.accumulate)
            for callback in self.callbacks:
                callback(index)


torch.manual_seed(0)
model = nn.Linear(4, 2)
sgd = torch.optim.SGD(model.parameters(), lr=0.1)
decay = torch.optim.lr_scheduler.LambdaLR(sgd, lambda update: 1 / (1 + update))
loop = Loop(Stepper(sgd, torch.amp.GradScaler("cpu", init_scale=64.0), model.parameters(), decay, 1.0), accumulate=3)


@loop.on_batch_end
def step_at_boundary(index):
    if index % 3 == 2:
        loop.stepper.step()


def losses():
    for _ in range(9):
        x, y = torch.randn(4, 4), torch.randint(2, (4,))
        with torch.autocast("cpu", dtype=torch.float16):
            loss = nn.functional.cross_entropy(model(x), y)
        yield loss


loop.run(losses())
