from more import *


def train(net, loader, criterion, accum):
    opt = optim.AdamW(net.parameters())
    scaler = torch.amp.GradScaler("cuda")
    for i, (x, y) in enumerate(loader):
        opt.zero_grad()  # expect: zero-grad-per-micro-step
        scaler.scale(criterion(net(x), y) / accum).backward()
        if (i + 1) % accum == 0:
            update(scaler, opt, net)


def rehearse(head: Head, loader):
    opt = optim.AdamW(nn.Linear(4, 1).parameters())
    for x, y in loader:
        nn.functional.cross_entropy(head(x), y).backward()
        hidden(opt)


def unknown(net, loader, criterion):
    opt = optim.AdamW(net.parameters())
    for x, y in loader:
        criterion(net(x), y).backward()
        _own(opt)
