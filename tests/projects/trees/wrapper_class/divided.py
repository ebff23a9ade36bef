import torch
from util.misc import NativeScalerWithGradNormCount as NativeScaler


def train(model, criterion, loader, args):
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    loss_scaler = NativeScaler()
    optimizer.zero_grad()
    for i, (x, y) in enumerate(loader):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(model(x), y)
        loss = loss / args.accum_iter
        boundary = (i + 1) % args.accum_iter == 0 or i + 1 == len(loader)
        loss_scaler(loss, optimizer, clip_grad=1.0, parameters=model.parameters(), update_grad=boundary)  # expect: misnormalized-tail-window
        if boundary:
            optimizer.zero_grad()
