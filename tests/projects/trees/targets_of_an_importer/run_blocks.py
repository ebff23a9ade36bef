import torch

from .blocks import fit_blocks


def run(model, blocks, accum):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    batches = iter([{"input_ids": block, "labels": block} for block in blocks])
    fit_blocks(model, batches, optimizer, len(blocks) // accum, accum)
