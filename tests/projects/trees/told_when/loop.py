import torch


def train_one_epoch(model, loader, optimizer, loss_scaler, args):
    for i, (x, y) in enumerate(loader):
        if i % args.accum_iter == 0:
            optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = torch.pow(model(x) - y, 2).mean()
        loss /= args.accum_iter
        apply_update = (i + 1) % args.accum_iter == 0
        loss_scaler(loss, optimizer, parameters=model.parameters(), update_grad=apply_update)  # expect: dropped-tail-window
