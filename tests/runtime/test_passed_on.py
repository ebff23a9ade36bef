"""What stands between a loss and its criterion, and is no criterion itself: functions in Python that torch puts there,
and functions of the user's over a single number."""

import json

import pytest

from runtime_guard.kept import TELLS_SHAPES
from tests.runtime.forked import run_module
from tests.runtime.ranks import port

PROGRAM = """\
import torch
import torch.distributed as dist
from torch import nn
from torch.nn import functional as F
from torch.nn.parallel import DistributedDataParallel

class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(8, 3)
    def forward(self, x, y):
        logits = self.inner(x)
        loss = F.cross_entropy(logits, y, reduction="sum") / {divisor}
        return {returned}

class Halved(torch.autograd.Function):
    @staticmethod
    def forward(ctx, loss):
        return loss.clone()
    @staticmethod
    def backward(ctx, gradient):
        return gradient / 2

class Fused(torch.autograd.Function):
    @staticmethod
    def forward(ctx, logits, y):
        ctx.save_for_backward(logits, y)
        return F.cross_entropy(logits, y)
    @staticmethod
    def backward(ctx, gradient):
        logits, y = ctx.saved_tensors
        wanted = F.one_hot(y, 3)
        return gradient * (logits.softmax(-1) - wanted) / len(y), None

torch.manual_seed(0)
dist.init_process_group("gloo")
model = {model}
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for step in range(24):
    made = model(torch.randn(4, 8), torch.randint(0, 3, (4,)))
    loss = {loss}
    loss.backward()
    if (step + 1) % 4 == 0:
        optimizer.step()
        optimizer.zero_grad()
"""
SINK = "DistributedDataParallel(Model(), find_unused_parameters=True)"
STATIC = "DistributedDataParallel(Model(), static_graph=True)"
HOOKED = "Model(); model.register_full_backward_hook(lambda *_: None)"
PLAIN = "DistributedDataParallel(Model())"
LAST = ("(logits.sigmoid(), loss)", "made[1]")
NAMED = ('{"loss": loss, "logits": logits}', 'made["loss"]')
ALONE = ("loss", "made")
SHAPES = {
    "sink, in a dictionary": (SINK, *NAMED),
    "sink, last of a tuple": (SINK, *LAST),
    "sink, alone": (SINK, *ALONE),
    "sink of a static graph": (STATIC, *NAMED),
    "module with a full backward hook": (HOOKED, *LAST),
    "without": (PLAIN, *NAMED),
}


def run(folder, model, returned, loss, divisor=16):
    text = PROGRAM.format(model=model, returned=returned, loss=loss, divisor=divisor)
    (folder / "train.py").write_text(text, encoding="utf-8")
    started = {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(port()), "WORLD_SIZE": "1", "RANK": "0"}
    options = ["--mode", "record", "--ignore", "missing-no-sync", "--report", "report.json", "train.py"]
    done = run_module("runtime_guard", options, folder, started)
    assert done.status == 0, done.stderr
    report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    return {one["code"] for one in report["violations"]}, report["seen"][0]


@pytest.mark.parametrize("name", SHAPES)
def test_a_division_is_seen_through_what_passes_the_loss_on(tmp_path, name):
    codes, confirmed = run(tmp_path, *SHAPES[name])
    assert (codes, "weight 1.000" in confirmed) == (set(), True), confirmed


@pytest.mark.parametrize("name", SHAPES)
@pytest.mark.parametrize(
    ("divisor", "rule", "weight"), [(4, "missing-loss-division", "4.000"), (64, "wrong-loss-divisor", "0.250")]
)
def test_so_is_one_that_is_missing_or_too_much(tmp_path, name, divisor, rule, weight):
    codes, confirmed = run(tmp_path, *SHAPES[name], divisor)
    assert (codes, f"weight {weight}" in confirmed) == ({rule}, True), confirmed


@pytest.mark.parametrize("loss", ["Halved.apply(made)", "Halved.apply(made) / 4"])
def test_what_a_function_makes_of_a_single_number_is_not_known(tmp_path, loss):
    codes, confirmed = run(tmp_path, PLAIN, "loss", loss)
    assert codes == set()
    assert "weight" not in confirmed


@pytest.mark.parametrize(("divisor", "rules"), [("4", set()), ("1", {"missing-loss-division"})])
def test_a_function_of_many_numbers_is_a_criterion(tmp_path, divisor, rules):
    codes, _ = run(tmp_path, PLAIN, "logits", f"Fused.apply(made, torch.randint(0, 3, (4,))) / {divisor}")
    assert codes == (rules if TELLS_SHAPES else set())  # torch 2.4 does not say what a function in Python has taken
