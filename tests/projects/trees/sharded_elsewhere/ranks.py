import os

import torch
from torch.distributed.fsdp import FullyShardedDataParallel as Sharded
from torch.distributed.fsdp import MixedPrecision, ShardingStrategy

SHARDS = ShardingStrategy.SHARD_GRAD_OP
NO_SHARDS = ShardingStrategy.NO_SHARD


def set_up():
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    half = MixedPrecision(param_dtype=torch.bfloat16)
    options = dict(
        mixed_precision=half,
        sharding_strategy=ShardingStrategy.FULL_SHARD,
        device_id=torch.cuda.current_device(),
    )
    return options


def set_up_whole():
    torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
    options = {"device_id": torch.cuda.current_device()}
    options["sharding_strategy"] = ShardingStrategy.NO_SHARD
    return options


def strategy_of(args):
    if args.plan == "gradients":
        return ShardingStrategy.SHARD_GRAD_OP
    return ShardingStrategy.FULL_SHARD


def strategy_as_told(args):
    print("the plan is", args.plan)
    print("of", os.environ["WORLD_SIZE"])
    return getattr(ShardingStrategy, args.plan)


class Ranks:
    def __init__(self):
        self.several = "RANK" in os.environ
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    def spread(self, model, fully=False):
        if fully:
            return self._shard(model)
        else:
            return self._shard_in_part(model)

    def _shard(self, model):
        if self.several:
            model = Sharded(model, device_id=self.device)
        return model

    def _shard_in_part(self, model):
        if self.several:
            model = Sharded(model, device_id=self.device, sharding_strategy=ShardingStrategy.HYBRID_SHARD)
        return model

    def copy(self, model):
        if self.several:
            model = Sharded(model, device_id=self.device, sharding_strategy=ShardingStrategy.NO_SHARD)
        return model
