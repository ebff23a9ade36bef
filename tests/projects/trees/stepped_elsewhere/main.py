import torch

from engine import train_one_epoch


def main(model, criterion, loader, epochs):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, "first.pt")
    scaler = torch.amp.GradScaler("cuda")
    for epoch in range(epochs):
        train_one_epoch(model, criterion, loader, optimizer, scaler)
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, "last.pt")  # expect: scaler-not-saved
