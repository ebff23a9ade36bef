"""One epoch in the manner of image-model training scripts: the last window knows its own length, updates are counted."""

# right
import math
from collections import OrderedDict
from contextlib import suppress
from functools import partial

import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset


class AverageMeter:
    def __init__(self):
        self.reset()

    def reset(self):
        self.val = self.avg = self.sum = 0.0
        self.count = 0

    def update(self, val, n=1):
        self.val = val
        self.sum += val * n
        self.count += n
        self.avg = self.sum / self.count


def train_one_epoch(
    epoch, model, loader, optimizer, loss_fn, lr_scheduler, loss_scaler, amp_autocast, grad_accum_steps, clip_grad
):
    model.train()
    losses_m = AverageMeter()
    accum_steps = grad_accum_steps
    last_accum_steps = len(loader) % accum_steps
    updates_per_epoch = (len(loader) + accum_steps - 1) // accum_steps
    num_updates = epoch * updates_per_epoch
    last_batch_idx = len(loader) - 1
    last_batch_idx_to_accum = len(loader) - last_accum_steps

    optimizer.zero_grad()
    update_sample_count = 0
    for batch_idx, (input, target) in enumerate(loader):
        last_batch = batch_idx == last_batch_idx
        need_update = last_batch or (batch_idx + 1) % accum_steps == 0
        update_idx = batch_idx // accum_steps
        if batch_idx >= last_batch_idx_to_accum:
            accum_steps = last_accum_steps

        def _forward():
            with amp_autocast():
                output = model(input)
                loss = loss_fn(output, target)
            if accum_steps > 1:
                loss /= accum_steps
            return loss

        def _backward(_loss):
            loss_scaler.scale(_loss).backward()
            if need_update:
                if clip_grad is not None:
                    loss_scaler.unscale_(optimizer)
                    nn.utils.clip_grad_norm_(model.parameters(), clip_grad)
                loss_scaler.step(optimizer)
                loss_scaler.update()

        loss = _forward()
        _backward(loss)
        losses_m.update(loss.item() * accum_steps, input.size(0))
        update_sample_count += input.size(0)
        if not need_update:
            continue

        num_updates += 1
        optimizer.zero_grad()
        if update_idx % 2 == 0:
            lr = sum(g["lr"] for g in optimizer.param_groups) / len(optimizer.param_groups)
            print(
                f"Train: {epoch} [{update_idx}/{updates_per_epoch}] Loss: {losses_m.val:.4f} ({losses_m.avg:.4f}) LR: {lr:.3e}"
            )
        update_sample_count = 0
        if lr_scheduler is not None:
            lr_scheduler.step_update(num_updates=num_updates)
    return OrderedDict([("loss", losses_m.avg)])


class CosineUpdates:
    """A schedule with an absolute position."""

    def __init__(self, optimizer, total):
        self.optimizer, self.total = optimizer, total
        self.base = [g["lr"] for g in optimizer.param_groups]

    def step_update(self, num_updates):
        for g, lr in zip(self.optimizer.param_groups, self.base):
            g["lr"] = lr * 0.5 * (1 + math.cos(math.pi * min(1.0, num_updates / self.total)))


def main():
    torch.manual_seed(3)
    data = TensorDataset(torch.randn(44, 8), torch.randint(3, (44,)))
    loader = DataLoader(data, batch_size=4, shuffle=True)
    model = nn.Sequential(nn.Linear(8, 16), nn.GELU(), nn.Linear(16, 3))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)
    half = True
    amp_autocast = partial(torch.autocast, device_type="cpu", dtype=torch.float16) if half else suppress
    loss_scaler = torch.amp.GradScaler("cpu", init_scale=1024, enabled=half)
    epochs, accum = 2, 4
    scheduler = CosineUpdates(optimizer, epochs * math.ceil(len(loader) / accum))
    for epoch in range(epochs):
        metrics = train_one_epoch(
            epoch,
            model,
            loader,
            optimizer,
            nn.CrossEntropyLoss(label_smoothing=0.1),
            scheduler,
            loss_scaler,
            amp_autocast,
            accum,
            1.0,
        )
        print(epoch, metrics)


if __name__ == "__main__":
    main()
