"""A model that is long is still read for its loss: what that is the mean of, or the sum, decides."""

import pytest

from amplint.analysis import findings_of

MODEL = """\
from torch import nn
from torch.nn import functional as F


class Network(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.inner = nn.Linear(width, width)

    def forward(self, batch):
        x, y = batch["x"], batch["y"]
        if len(x) == 0:
            return None
        parts, counts = [], []
        for logits, target in zip(self.inner(x), y):
            parts.append(F.cross_entropy(logits, target))
            counts.append(len(target))
        return {"loss": LOSS, "tokens": sum(counts)}

"""
TRAIN = """\
import torch
from model import Network


def train(args, loader):
    model = Network(args.width)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    for i, batch in enumerate(loader):
        out = model(batch)
        if out is None:
            continue
        out["loss"].backward()
        if (i + 1) % args.accum_steps == 0:
            optimizer.step()
            optimizer.zero_grad()
"""
OTHERS = "".join(f"    def part_{i}(self, x):\n        y = self.inner(x)\n        return y\n\n" for i in range(130))


@pytest.mark.parametrize(
    ("loss", "told"),
    [
        ("sum([part * count for part, count in zip(parts, counts)])", ["dropped-tail-window"]),
        ("F.cross_entropy(self.inner(x), y)", ["dropped-tail-window", "missing-loss-division"]),
    ],
)
def test_the_loss_of_a_model_of_more_than_five_hundred_rows_is_followed(tmp_path, monkeypatch, loss, told):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model.py").write_text(MODEL.replace("LOSS", loss) + OTHERS)
    assert sorted({found.code for found in findings_of(TRAIN, "train.py")}) == told


STEPS = """\
from torch.nn import functional as F


class Steps:
    def __init__(self, net, optimizer, args):
        self.net, self.optimizer, self.args = net, optimizer, args

    def take(self, at, x, y):
        loss = F.cross_entropy(self.net(x), y) / self.args.accum_steps
        loss.backward()
        if (at + 1) % self.args.accum_steps == 0:
            self.optimizer.step()
            self.optimizer.zero_grad()

"""
RUN = """\
import torch
from steps import Steps
from torch.nn.parallel import DistributedDataParallel


def run(net, loader, args):
    assert len(loader) % args.accum_steps == 0
    net = WRAPPER(net)
    steps = Steps(net, torch.optim.SGD(net.parameters(), lr=0.1), args)
    for i, (x, y) in enumerate(loader):
        steps.take(i, x, y)
"""
SHOWN = "".join(
    f"    def show_{i}(self, x):\n        x = self.net.draw(x)\n        y = x\n        return y\n\n" for i in range(110)
)


@pytest.mark.parametrize(
    ("wrapper", "others", "told"),
    [
        ("DistributedDataParallel", SHOWN, ["missing-no-sync"]),
        ("torch.nn.Sequential", SHOWN, []),
        ("DistributedDataParallel", SHOWN.replace("draw", "loss"), []),
    ],
)
def test_a_class_of_more_than_four_hundred_rows_is_followed_if_few_of_them_can_matter(
    tmp_path, monkeypatch, wrapper, others, told
):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "steps.py").write_text(STEPS + others)
    assert [found.code for found in findings_of(RUN.replace("WRAPPER", wrapper), "run.py")] == told
