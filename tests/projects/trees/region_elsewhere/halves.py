from contextlib import contextmanager, nullcontext

import torch

DTYPE = torch.float16


def dtype_of(name):
    if name == "bf16":
        return torch.bfloat16
    return torch.float16


@contextmanager
def region(enabled):
    with torch.autocast("cuda", dtype=torch.float16, enabled=enabled):
        yield


def region_or_not(amp):
    return torch.autocast("cuda", dtype=torch.float16) if amp else nullcontext()


def make_scaler(amp):
    return torch.amp.GradScaler("cuda", enabled=amp)
