from contextlib import nullcontext

import torch

DTYPE = torch.bfloat16


def region(amp):
    return torch.autocast("cuda", dtype=torch.bfloat16) if amp else nullcontext()
