"""Two processes whose parameters are sharded: windows, weights and reductions are those of the program."""

import pytest

from tests.runtime.ranks import run_all

BEGIN = """\
from contextlib import nullcontext

import torch
import torch.distributed as dist
from torch import nn
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard

dist.init_process_group("gloo")
torch.manual_seed(0)
model = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.Linear(8, 3))
{shard}
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
torch.manual_seed(dist.get_rank())
loader = [(torch.randn(8, 4), torch.randn(8, 3)) for _ in range(12)]
for i, (x, y) in enumerate(loader):
    boundary = (i + 1) % 4 == 0
    {before}
    with {context}:
        loss = nn.functional.mse_loss(model(x), y){divided}
        loss.backward()
    if boundary:
        {clip}
        optimizer.step()
        optimizer.zero_grad()
dist.destroy_process_group()
"""
BY_PARAMETER = "for one in (model[0], model[2], model): fully_shard(one)"
FLAT, VIEWS = (
    f'model = FullyShardedDataParallel(model, use_orig_params={views}, device_id=torch.device("cpu"))'
    for views in (False, True)
)
SWITCHED, INVERTED = (f"model.set_requires_gradient_sync({when})" for when in ("boundary", "not boundary"))
HELD = "nullcontext() if boundary else model.no_sync()"
BACKWARD, CLIP = 20, 22


def program(shard, before="pass", context="nullcontext()", divided=" / 4", clip="pass"):
    return BEGIN.format(shard=shard, before=before, context=context, divided=divided, clip=clip)


LOCAL = "nn.utils.clip_grad_norm_(model.parameters(), 0.1)"
MISSING = [f"{BACKWARD}: missing-loss-division"]
WANTED = {
    "fully_shard": (program(BY_PARAMETER), []),
    "fully_shard, reduced at the boundary": (program(BY_PARAMETER, SWITCHED), []),
    "fully_shard, clipped": (program(BY_PARAMETER, clip=LOCAL), []),
    "fully_shard, undivided": (program(BY_PARAMETER, divided=""), MISSING),
    "fully_shard, reduced at the boundary, undivided": (program(BY_PARAMETER, SWITCHED, divided=""), MISSING),
    "fully_shard, not reduced at the boundary": (
        program(BY_PARAMETER, INVERTED),
        [f"{BACKWARD}: no-sync-on-boundary"],
    ),
}
for _name, _shard in {"flat": FLAT, "views": VIEWS}.items():
    WANTED |= {
        _name: (program(_shard), []),
        f"{_name}, no_sync": (program(_shard, context=HELD), []),
        f"{_name}, clipped by the model": (program(_shard, clip="model.clip_grad_norm_(0.1)"), []),
        f"{_name}, undivided": (program(_shard, divided=""), MISSING),
        f"{_name}, no_sync, undivided": (program(_shard, context=HELD, divided=""), MISSING),
        f"{_name}, clipped shard by shard": (program(_shard, clip=LOCAL), [f"{CLIP}: fsdp-local-clip"]),
    }


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """What each rank's guard says of each program."""
    programs = {name: source for name, (source, _) in WANTED.items()}
    return run_all(programs, tmp_path_factory.mktemp("shards"), plain=True)


@pytest.mark.parametrize("name", WANTED)
def test_what_is_sharded_is_followed_on_every_rank(told, name):
    for rank, one in enumerate(told[name]):
        assert one["found"] == WANTED[name][1], (rank, one)
        assert one["micro_steps"] == {"4": 3}
        assert one["weight"][0]["last"] == pytest.approx(4.0 if "undivided" in name else 1.0)
        assert one["not_covered"] == []


@pytest.mark.parametrize("name", WANTED)
def test_shards_are_the_same_without_the_guard(told, name):
    assert [one["same"] for one in told[name]] == [True, True]
