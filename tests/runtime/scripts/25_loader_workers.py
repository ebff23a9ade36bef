"""A DataLoader with worker processes; the dataset makes tensors with gradients of its own in the workers."""
# right

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Points(Dataset):
    def __len__(self):
        return 32

    def __getitem__(self, index):
        point = torch.full((3,), float(index) / 32, requires_grad=True)
        (slope,) = torch.autograd.grad((point**2).sum(), point)
        return slope, slope.sum()


def main():
    torch.manual_seed(0)
    loader = DataLoader(Points(), batch_size=4, num_workers=2, shuffle=True)
    model = nn.Linear(3, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(2):
        for index, (x, y) in enumerate(loader):
            loss = nn.functional.mse_loss(model(x).squeeze(1), y) / 2
            loss.backward()
            if (index + 1) % 2 == 0:  # suspect: dropped-tail-window
                optimizer.step()
                optimizer.zero_grad()


if __name__ == "__main__":
    main()
