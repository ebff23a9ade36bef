from torch.nn import functional as F


def train(net, opt, loader, options):
    assert len(loader) % options.window == 0
    for i, (x, y) in enumerate(loader):
        loss = F.cross_entropy(net(x), y) / options.window
        loss.backward()
        if (i + 1) % options.window == 0:
            opt.step()
            opt.zero_grad()
