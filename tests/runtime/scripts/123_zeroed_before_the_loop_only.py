"""Zeroed once before the loop and never again, with a scaler, a clip and a validation amid the epoch."""

# wrong: missing-zero-grad, dropped-tail-window
import copy
import logging

import torch
import torch.nn as nn
from torch.amp import GradScaler, autocast

logging.basicConfig(level=logging.INFO, format="%(message)s")
log = logging.getLogger("train")


def evaluate(model, batches, criterion):
    was = model.training
    model.eval()
    total = 0.0
    with torch.no_grad(), autocast("cpu", dtype=torch.float16):
        for x, y in batches:
            total += criterion(model(x), y).float().item()
    model.train(was)
    return total / len(batches)


def fit(model, train, val, *, epochs, accum, eval_every, patience, lr):
    criterion = nn.CrossEntropyLoss()
    optimizer = torch.optim.SGD(model.parameters(), lr=lr, momentum=0.9, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, mode="min", factor=0.5, patience=1)
    scaler = GradScaler("cpu", init_scale=2**8)
    best, best_state, bad, updates = float("inf"), None, 0, 0
    optimizer.zero_grad()
    for epoch in range(epochs):
        seen = 0
        for index, (x, y) in enumerate(train):
            with autocast("cpu", dtype=torch.float16):
                loss = criterion(model(x), y) / accum
            scaler.scale(loss).backward()  # expect: missing-zero-grad
            seen += len(x)
            boundary = (index + 1) % accum == 0
            if not boundary:  # suspect: dropped-tail-window
                continue
            scaler.unscale_(optimizer)
            nn.utils.clip_grad_norm_(model.parameters(), 2.0)
            scaler.step(optimizer)
            scaler.update()
            updates += 1
            if updates % eval_every == 0:
                metric = evaluate(model, val, criterion)
                scheduler.step(metric)
                print(f"update {updates} val {metric:.5f} lr {optimizer.param_groups[0]['lr']:.4f}")
                if metric < best:
                    best, bad = metric, 0
                    best_state = copy.deepcopy(model.state_dict())
                else:
                    bad += 1
                    if bad > patience:
                        model.load_state_dict(best_state)
                        return best
    model.load_state_dict(best_state)
    return best


def main():
    torch.manual_seed(4)
    x = torch.randn(96, 7)
    y = (x[:, :3].argmax(1)).long()
    train = list(zip(x[:72].split(6), y[:72].split(6)))
    val = list(zip(x[72:].split(12), y[72:].split(12)))
    model = nn.Sequential(nn.Linear(7, 24), nn.ReLU(), nn.Linear(24, 3))
    print(f"{fit(model, train, val, epochs=3, accum=3, eval_every=2, patience=3, lr=0.1):.5f}")


if __name__ == "__main__":
    main()
