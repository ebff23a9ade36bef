from .steps import train


def train_loop(net, opt, loader, options):
    losses = []
    for epoch in range(options.epochs):
        losses.append(train(net, opt, loader, options))
    return losses
