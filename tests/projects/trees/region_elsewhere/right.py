"""bfloat16 needs no scaler, and float16 has one."""

import torch
from brains import DTYPE
from brains import region as brain
from halves import make_scaler, region


def constant(model, loader):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for x, y in loader:
        with torch.autocast("cuda", dtype=DTYPE):
            loss = torch.nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def chosen(model, loader, args):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for x, y in loader:
        with brain(args.amp):
            loss = torch.nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()


def scaled(model, loader, args):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    scaler = make_scaler(args.amp)
    for x, y in loader:
        with region(args.amp):
            loss = torch.nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
