import torch

import engine


def main(model, criterion, loader, epochs):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for epoch in range(epochs):
        engine.train_and_keep(model, criterion, loader, optimizer, scaler, "scale.pt")
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, "last.pt")
