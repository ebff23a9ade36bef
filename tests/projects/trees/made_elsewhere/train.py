import torch
from build import build, log_lines


def train(model, criterion, loader, args):
    engine, scaling = build(model, args)
    for x, y in loader:
        engine.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(model(x), y)
        scaling.scale(loss).backward()
        log_lines(engine, scaling)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # expect: clip-before-unscale
        scaling.step(engine)
        scaling.update()
