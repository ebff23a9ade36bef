"""A callable loss scaler that hides backward, unscale, clip, step and update, as in vision training scripts."""
# right

import torch
from torch import nn


class NativeScaler:
    state_dict_key = "amp_scaler"

    def __init__(self):
        self._scaler = torch.amp.GradScaler("cpu", init_scale=256.0)

    def __call__(self, loss, optimizer, clip_grad=None, parameters=None, need_update=True):
        self._scaler.scale(loss).backward()
        if need_update:
            if clip_grad is not None:
                self._scaler.unscale_(optimizer)
                nn.utils.clip_grad_norm_(parameters, clip_grad)
            self._scaler.step(optimizer)
            self._scaler.update()

    def state_dict(self):
        return self._scaler.state_dict()

    def load_state_dict(self, state_dict):
        self._scaler.load_state_dict(state_dict)


def train_one_epoch(model, loader, optimizer, loss_scaler, accum_iter=2, max_norm=1.0):
    optimizer.zero_grad()
    for index, (samples, targets) in enumerate(loader):
        with torch.autocast("cpu", dtype=torch.float16):
            loss = nn.functional.cross_entropy(model(samples), targets)
        loss = loss / accum_iter
        last = (index + 1) % accum_iter == 0
        loss_scaler(loss, optimizer, clip_grad=max_norm, parameters=model.parameters(), need_update=last)
        if last:
            optimizer.zero_grad()


torch.manual_seed(0)
network = nn.Sequential(nn.Linear(6, 6), nn.GELU(), nn.Linear(6, 4))
train_one_epoch(
    network,
    [(torch.randn(3, 6), torch.randint(4, (3,))) for _ in range(8)],
    torch.optim.AdamW(network.parameters(), lr=1e-3),
    NativeScaler(),
)
