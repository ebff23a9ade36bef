"""A Trainer class in mixed precision; the last window of an epoch is shorter and divided by its own length."""
# right

import torch
from torch import nn


class Trainer:
    def __init__(self, model, loader, accum_steps):
        self.model, self.loader, self.accum_steps = model, loader, accum_steps
        self.criterion = nn.CrossEntropyLoss()
        self.optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        self.scaler = torch.amp.GradScaler("cpu", init_scale=1024.0)
        self.updates = 0

    def window_length(self, index):
        start = index - index % self.accum_steps
        return min(self.accum_steps, len(self.loader) - start)

    def train_step(self, batch, index):
        inputs, targets = batch
        with torch.autocast("cpu", dtype=torch.float16):
            loss = self.criterion(self.model(inputs), targets)
        self.scaler.scale(loss / self.window_length(index)).backward()
        return loss.detach()

    def update(self):
        self.scaler.unscale_(self.optimizer)
        nn.utils.clip_grad_norm_(self.model.parameters(), max_norm=0.5)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.optimizer.zero_grad(set_to_none=True)
        self.updates += 1

    def fit(self, epochs):
        for _ in range(epochs):
            total = 0.0
            for index, batch in enumerate(self.loader):
                total += self.train_step(batch, index)
                if (index + 1) % self.accum_steps == 0 or index + 1 == len(self.loader):
                    self.update()


torch.manual_seed(1)
data = [(torch.randn(4, 6), torch.randint(3, (4,))) for _ in range(10)]
trainer = Trainer(nn.Linear(6, 3), data, accum_steps=4)
trainer.fit(epochs=2)
assert trainer.updates == 6
