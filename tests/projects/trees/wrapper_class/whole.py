import torch
import util.misc


def train(model, criterion, loader, args):
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr)
    loss_scaler = util.misc.NativeScalerWithGradNormCount()
    optimizer.zero_grad()
    for i, (x, y) in enumerate(loader):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(model(x), y)
        boundary = (i + 1) % args.accum_iter == 0 or i + 1 == len(loader)
        loss_scaler(loss, optimizer, update_grad=boundary)  # expect: missing-loss-division
        if boundary:
            optimizer.zero_grad()
