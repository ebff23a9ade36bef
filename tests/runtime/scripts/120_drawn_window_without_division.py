"""A Trainer draws as many batches as a window holds, and adds their losses up whole."""

# wrong: missing-loss-division
import os
import tempfile
from dataclasses import dataclass, field

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class OptimConfig:
    lr: float = 1e-2
    momentum: float = 0.9
    max_norm: float = 5.0


@dataclass
class TrainConfig:
    total_updates: int = 6
    accumulate: int = 2
    precision: str = "fp16"
    optim: OptimConfig = field(default_factory=OptimConfig)
    out_dir: str = "."


class Trainer:
    def __init__(self, cfg: TrainConfig, model: nn.Module):
        self.cfg = cfg
        self.model = model
        self.optimizer = torch.optim.SGD(model.parameters(), lr=cfg.optim.lr, momentum=cfg.optim.momentum)
        self.scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(self.optimizer, T_max=cfg.total_updates)
        self.use_amp = cfg.precision == "fp16"
        self.scaler = torch.amp.GradScaler("cpu", init_scale=512.0, enabled=self.use_amp)
        self.global_step = 0

    @property
    def checkpoint_path(self):
        return os.path.join(self.cfg.out_dir, "last.pt")

    def save(self):
        torch.save(
            {
                "model": self.model.state_dict(),
                "optimizer": self.optimizer.state_dict(),
                "scheduler": self.scheduler.state_dict(),
                "scaler": self.scaler.state_dict(),
                "global_step": self.global_step,
            },
            self.checkpoint_path,
        )

    def resume(self):
        state = torch.load(self.checkpoint_path)
        self.model.load_state_dict(state["model"])
        self.optimizer.load_state_dict(state["optimizer"])
        self.scheduler.load_state_dict(state["scheduler"])
        self.scaler.load_state_dict(state["scaler"])
        self.global_step = state["global_step"]

    def _loss(self, batch):
        x, y = batch
        with torch.autocast("cpu", dtype=torch.float16, enabled=self.use_amp):
            out = self.model(x)
            return F.cross_entropy(out, y)

    def train_window(self, batches):
        self.model.train()
        self.optimizer.zero_grad(set_to_none=True)
        running = 0.0
        for batch in batches:
            loss = self._loss(batch)
            self.scaler.scale(loss).backward()  # expect: missing-loss-division
            running += loss.item()
        self.scaler.unscale_(self.optimizer)
        norm = nn.utils.clip_grad_norm_(self.model.parameters(), self.cfg.optim.max_norm)
        self.scaler.step(self.optimizer)
        self.scaler.update()
        self.scheduler.step()
        self.global_step += 1
        return running, norm

    def fit(self, stream, until):
        while self.global_step < until:
            window = [next(stream) for _ in range(self.cfg.accumulate)]
            loss, norm = self.train_window(window)
            print(f"{self.global_step}: {loss:.5f} |g|={float(norm):.5f} lr={self.scheduler.get_last_lr()[0]:.5f}")


def stream():
    g = torch.Generator().manual_seed(7)
    while True:
        x = torch.randn(8, 6, generator=g)
        yield x, (x.sum(1) > 0).long()


def make_model():
    return nn.Sequential(nn.Linear(6, 12), nn.Tanh(), nn.Linear(12, 2))


if __name__ == "__main__":
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as folder:
        cfg = TrainConfig(out_dir=folder)
        batches = stream()
        first = Trainer(cfg, make_model())
        first.fit(batches, until=3)
        first.save()
        second = Trainer(cfg, make_model())
        second.resume()
        second.fit(batches, until=cfg.total_updates)
