"""A callable loss scaler that clips before the scaler's step and never unscales."""
# wrong: clip-before-unscale

import torch
from torch import nn


class LossScaler:
    def __init__(self):
        self._scaler = torch.amp.GradScaler("cpu", init_scale=256.0)

    def __call__(self, loss, optimizer, parameters, max_norm, need_update=True):
        self._scaler.scale(loss).backward()
        if need_update:
            norm = nn.utils.clip_grad_norm_(parameters, max_norm)  # expect: clip-before-unscale
            self._scaler.step(optimizer)
            self._scaler.update()
            return norm
        return None


torch.manual_seed(0)
model = nn.Sequential(nn.Linear(6, 6), nn.GELU(), nn.Linear(6, 4))
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
loss_scaler = LossScaler()
accum_iter = 2
for index in range(8):
    samples, targets = torch.randn(3, 6), torch.randint(4, (3,))
    with torch.autocast("cpu", dtype=torch.float16):
        loss = nn.functional.cross_entropy(model(samples), targets) / accum_iter
    last = (index + 1) % accum_iter == 0
    loss_scaler(loss, optimizer, list(model.parameters()), 1.0, need_update=last)
    if last:
        optimizer.zero_grad()
