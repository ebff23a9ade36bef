"""Cross-validation and a sweep: a fresh model, optimizer, scaler and scheduler for every fold and every setting."""

# right
import itertools

import torch
from torch import nn
from torch.amp import GradScaler, autocast


def run_fold(x, y, held_out, lr, accumulate):
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 2))
    optimizer = torch.optim.AdamW(model.parameters(), lr=lr)
    scaler = GradScaler("cpu", init_scale=128.0)
    train = [i for i in range(len(x)) if i not in held_out]
    batches = [train[i : i + 4] for i in range(0, len(train), 4)]
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=0.9)
    for _ in range(2):
        optimizer.zero_grad()
        for n, batch in enumerate(batches, 1):
            with autocast("cpu", dtype=torch.float16):
                loss = nn.functional.cross_entropy(model(x[batch]), y[batch])
            held = accumulate if n <= len(batches) // accumulate * accumulate else len(batches) % accumulate
            scaler.scale(loss / held).backward()
            if n % accumulate == 0 or n == len(batches):
                scaler.unscale_(optimizer)
                nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                scaler.step(optimizer)
                scaler.update()
                optimizer.zero_grad()
        scheduler.step()
    with torch.inference_mode():
        return (model(x[held_out]).argmax(1) == y[held_out]).float().mean().item()


torch.manual_seed(1)
x = torch.randn(30, 4)
y = (x[:, 0] > 0).long()
folds = torch.arange(30).chunk(3)
for lr, accumulate in itertools.product((1e-2, 1e-3), (1, 2)):
    scores = [run_fold(x, y, fold.tolist(), lr, accumulate) for fold in folds]
    print(lr, accumulate, [round(s, 3) for s in scores])
