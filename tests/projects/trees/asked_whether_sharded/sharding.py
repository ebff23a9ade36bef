try:
    import torch
    from torch.distributed.fsdp import FullyShardedDataParallel
except ImportError:
    torch = None
    FullyShardedDataParallel = None


def wrap(model, strategy):
    if strategy == "ddp":
        return model
    return FullyShardedDataParallel(model, use_orig_params=True)


def is_fsdp_model(model):
    return FullyShardedDataParallel is not None and isinstance(model, FullyShardedDataParallel)
