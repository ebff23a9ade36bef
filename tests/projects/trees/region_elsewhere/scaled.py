import torch
from halves import make_scaler, region


def unclipped(model, loader, args):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    scaler = make_scaler(args.amp)
    for x, y in loader:
        with region(args.amp):
            loss = torch.nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # expect: clip-before-unscale
        scaler.step(optimizer)
        scaler.update()
