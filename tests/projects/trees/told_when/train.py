import torch
from loop import train_one_epoch
from scaling import NativeScaler


def main(args, model, loader):
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    loss_scaler = NativeScaler()
    for _epoch in range(args.epochs):
        train_one_epoch(model=model, loader=loader, optimizer=optimizer, loss_scaler=loss_scaler, args=args)
