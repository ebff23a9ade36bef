"""Three windows of the documented loop: what each witness says with the clip, without it, and mended."""

import json

import pytest

from tests.runtime.forked import run_module

SCRIPT = """\
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Linear(4, 3)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=65536.0)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda update: 0.99**update)
loader = [(torch.randn(8, 4), torch.randint(3, (8,))) for _ in range(12)]
accum_steps = 4


def train_one_epoch():
    for step, (inputs, targets) in enumerate(loader):
        with torch.autocast(device_type="cpu", dtype=torch.bfloat16):
            loss = criterion(model(inputs), targets){divided}
        optimizer.zero_grad(set_to_none=True) if step % accum_steps == 0 else None
        scaler.scale(loss).backward()
        {clip}
        if (step + 1) % accum_steps == 0:
            {before}
            scaler.step(optimizer)
            scaler.update()
            scheduler.step()


train_one_epoch()
"""
CLIP = "torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)"
UNSCALE = "scaler.unscale_(optimizer); torch.nn.utils.clip_grad_norm_(model.parameters(), 100.0)"


def report(tmp_path, divided="", clip="pass", before="pass"):
    script, told = tmp_path / "train.py", tmp_path / "guard.json"
    script.write_text(SCRIPT.format(divided=divided, clip=clip, before=before))
    done = run_module("runtime_guard", ["--mode", "record", "--report", str(told), str(script)], tmp_path)
    assert done.status == 0, done.stderr
    found = json.loads(told.read_text())
    [optimizer] = found["optimizers"]
    return {one["code"] for one in found["violations"]}, optimizer, found


def sums(optimizer):
    return {witness: figure["last"] for witness, figure in optimizer["weight_sum"].items()}


def test_the_ledger_shows_what_the_clip_has_left_and_names_it(tmp_path):
    codes, optimizer, _ = report(tmp_path, clip=CLIP)
    assert {"missing-loss-division", "clip-before-unscale", "clip-per-micro-step"} <= codes
    assert sums(optimizer)["graph"] == pytest.approx(4, abs=1e-6)
    assert sums(optimizer)["arithmetic"] == pytest.approx(4, abs=1e-6)
    assert sums(optimizer)["ledger"] < 1e-3
    assert "clip" in {touch["what"] for touch in optimizer["touches"]}


def test_without_the_clip_all_witnesses_say_accum_steps(tmp_path):
    codes, optimizer, _ = report(tmp_path)
    assert "missing-loss-division" in codes
    assert sums(optimizer) == pytest.approx({"graph": 4, "arithmetic": 4, "ledger": 4}, abs=1e-5)


def test_the_mended_version_weighs_one(tmp_path):
    codes, optimizer, found = report(tmp_path, divided=" / accum_steps", before=UNSCALE)
    assert not codes
    assert sums(optimizer) == pytest.approx({"graph": 1, "arithmetic": 1, "ledger": 1}, abs=1e-5)
    assert found["windows"]["effective_lr_multiplier"] == pytest.approx(1, abs=1e-5)
