import torch
from devices import put_on, silence


def train(net, loader, criterion):
    opt = torch.optim.Adam(net.parameters())
    put_on(opt, "cuda")
    for x, y in loader:
        criterion(net(x), y).backward()  # expect: missing-zero-grad
        opt.step()


def rehearse(net, loader, criterion):
    opt = torch.optim.Adam(net.parameters())
    silence(opt)
    for x, y in loader:
        criterion(net(x), y).backward()
        opt.step()
