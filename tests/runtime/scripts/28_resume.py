"""Everything is saved and restored: model, optimizer, scaler, scheduler; the copies keep their exact types."""
# right

import copy
import io
import pickle

import torch
from torch import nn


def build():
    model = nn.Linear(4, 2)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-2)
    scaler = torch.amp.GradScaler("cpu", init_scale=64.0)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=6)
    return model, optimizer, scaler, scheduler


def train(model, optimizer, scaler, scheduler, updates):
    for _ in range(updates):
        optimizer.zero_grad()
        for _ in range(2):
            x, y = torch.randn(4, 4), torch.randint(2, (4,))
            with torch.autocast("cpu", dtype=torch.float16):
                loss = nn.functional.cross_entropy(model(x), y)
            scaler.scale(loss / 2).backward()
        scaler.step(optimizer)
        scaler.update()
        scheduler.step()


torch.manual_seed(0)
first = build()
train(*first, updates=3)
file = io.BytesIO()
names = ("model", "optimizer", "scaler", "scheduler")
torch.save({name: part.state_dict() for name, part in zip(names, first, strict=True)}, file)
file.seek(0)
second = build()
saved = torch.load(file)
for name, part in zip(names, second, strict=True):
    part.load_state_dict(saved[name])
train(*second, updates=3)

for part in second[:3]:
    assert type(copy.deepcopy(part)) is type(part)
    assert type(pickle.loads(pickle.dumps(part))) is type(part)
