import torch


class Generator(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.encode = torch.nn.Linear(width, width)
        self.decode = torch.nn.Linear(width, width)

    def forward(self, x):
        z = self.encode(x)
        vq_loss = (z - z.round()).abs().mean()
        return self.decode(z), vq_loss


class Discriminator(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.judge = torch.nn.Linear(width, 1)

    def forward(self, x):
        return self.judge(x)
