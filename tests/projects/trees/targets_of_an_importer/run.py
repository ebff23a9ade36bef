"""Who brings the loop and the labels together."""

import torch

from .labels import labelled
from .loop import fit


def run(model, pairs, accum):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    fit(model, iter([labelled(*pair) for pair in pairs]), optimizer, len(pairs) // accum, accum)
