from torch.distributed.fsdp import FullyShardedDataParallel as FSDP


class State:
    def __init__(self, model, engine=None):
        self.model, self.engine = model, engine

    @property
    def wrapped(self):
        return any(isinstance(module, FSDP) for module in self.model.modules())
