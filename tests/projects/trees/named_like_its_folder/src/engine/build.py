from torch.distributed.fsdp import FullyShardedDataParallel
from torch.nn.parallel import DistributedDataParallel


def sharded(model, device):
    return FullyShardedDataParallel(model, device_id=device)


def copied(model, device):
    return DistributedDataParallel(model, device_ids=[device])
