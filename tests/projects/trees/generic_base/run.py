import torch
from torch import nn
from torch.nn.utils.rnn import pad_sequence

from text import TextLoop

IGNORED = -100


def collate(samples):
    return torch.stack([x for x, _ in samples]), pad_sequence([y for _, y in samples], padding_value=IGNORED)


def run(model, samples, args):
    loader = torch.utils.data.DataLoader(samples, collate_fn=collate)
    optim = torch.optim.SGD(model.parameters(), lr=0.1)
    loop = TextLoop(model, optim, nn.CrossEntropyLoss(), loader, args.epochs, args.window)
    loop.run()  # expect: mean-of-token-means, misnormalized-tail-window
