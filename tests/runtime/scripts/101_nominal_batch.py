"""Detection-style training: a nominal batch of 64, an accumulation that warms up, the loss times the batch size, an EMA."""

# right
import copy
import math

import numpy as np
import torch
import torch.nn as nn


class ModelEMA:
    def __init__(self, model, decay=0.99, tau=20):
        self.ema = copy.deepcopy(model).eval()
        self.updates = 0
        self.decay = lambda x: decay * (1 - math.exp(-x / tau))
        for p in self.ema.parameters():
            p.requires_grad_(False)

    def update(self, model):
        self.updates += 1
        d = self.decay(self.updates)
        msd = model.state_dict()
        for k, v in self.ema.state_dict().items():
            if v.dtype.is_floating_point:
                v *= d
                v += (1 - d) * msd[k].detach()


def smart_optimizer(model, lr, momentum, decay):
    g = [], [], []
    for m in model.modules():
        for n, p in m.named_parameters(recurse=False):
            (g[2] if n == "bias" else g[1] if isinstance(m, nn.LayerNorm) else g[0]).append(p)
    optimizer = torch.optim.SGD(g[2], lr=lr, momentum=momentum, nesterov=True)
    optimizer.add_param_group({"params": g[0], "weight_decay": decay})
    optimizer.add_param_group({"params": g[1], "weight_decay": 0.0})
    return optimizer


def one_cycle(y1=0.0, y2=1.0, steps=100):
    return lambda x: ((1 - math.cos(x * math.pi / steps)) / 2) * (y2 - y1) + y1


def train(hyp, epochs=3, batch_size=16):
    torch.manual_seed(0)
    nbs = 64
    accumulate = max(round(nbs / batch_size), 1)
    hyp["weight_decay"] *= batch_size * accumulate / nbs
    model = nn.Sequential(nn.Linear(10, 16), nn.LayerNorm(16), nn.SiLU(), nn.Linear(16, 5))
    optimizer = smart_optimizer(model, hyp["lr0"], hyp["momentum"], hyp["weight_decay"])
    lf = one_cycle(1, hyp["lrf"], epochs)
    scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lr_lambda=lf)
    ema = ModelEMA(model)
    amp = True
    scaler = torch.amp.GradScaler("cpu", init_scale=256.0, enabled=amp)
    loader = [(torch.randn(batch_size, 10), torch.randint(5, (batch_size,))) for _ in range(11)]
    nb = len(loader)
    nw = max(round(hyp["warmup_epochs"] * nb), 5)
    last_opt_step = -1
    scheduler.last_epoch = -1
    for epoch in range(epochs):
        model.train()
        mloss = torch.zeros(1)
        optimizer.zero_grad()
        for i, (imgs, targets) in enumerate(loader):
            ni = i + nb * epoch
            if ni <= nw:
                xi = [0, nw]
                accumulate = max(1, np.interp(ni, xi, [1, nbs / batch_size]).round())
                for j, x in enumerate(optimizer.param_groups):
                    x["lr"] = float(
                        np.interp(ni, xi, [hyp["warmup_bias_lr"] if j == 0 else 0.0, x["initial_lr"] * lf(epoch)])
                    )
                    x["momentum"] = float(np.interp(ni, xi, [hyp["warmup_momentum"], hyp["momentum"]]))
            with torch.amp.autocast("cpu", dtype=torch.float16, enabled=amp):
                pred = model(imgs)
                loss = nn.functional.cross_entropy(pred, targets) * batch_size
                loss_items = loss.detach() / batch_size
            scaler.scale(loss).backward()
            if ni - last_opt_step >= accumulate:  # suspect: dropped-tail-window
                scaler.unscale_(optimizer)
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=10.0)
                scaler.step(optimizer)
                scaler.update()
                optimizer.zero_grad()
                ema.update(model)
                last_opt_step = ni
            mloss = (mloss * i + loss_items) / (i + 1)
        scheduler.step()
        print(f"{epoch}/{epochs - 1} {mloss.item():.5f} {optimizer.param_groups[0]['lr']:.5f}")
    return ema


if __name__ == "__main__":
    ema = train(
        {
            "lr0": 0.01,
            "lrf": 0.1,
            "momentum": 0.937,
            "weight_decay": 5e-4,
            "warmup_epochs": 1,
            "warmup_bias_lr": 0.1,
            "warmup_momentum": 0.8,
        }
    )
    print(sum(p.sum().item() for p in ema.ema.parameters()))
