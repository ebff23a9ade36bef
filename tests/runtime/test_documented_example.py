"""The documented example, live: the same rules as the linter's, each with the place and what led to it."""

import json
from pathlib import Path

import pytest

from amplint.analysis import findings_of
from tests.runtime.forked import run_module

ROOT = Path(__file__).parents[2]
SCRIPT = ROOT / "tests" / "example" / "train.py"
MENDED = {
    "        optimizer.zero_grad(set_to_none=True) if step % accum_steps == 0 else None\n": "",
    "            loss = criterion(outputs, targets)": "            loss = criterion(outputs, targets) / accum_steps",
    "        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n": "",
    "            scaler.step(optimizer)": "            scaler.unscale_(optimizer)\n"
    "            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n            scaler.step(optimizer)",
    "            scheduler.step()": "            scheduler.step()\n            optimizer.zero_grad(set_to_none=True)",
    "windows * accum_steps + 2": "windows * accum_steps",
}


def run(script, folder, *options):
    report = folder / "report.json"
    done = run_module("runtime_guard", ["--mode", "record", "--report", str(report), *options, str(script)], folder)
    assert done.status == 0, done.stderr
    return json.loads(report.read_text(encoding="utf-8")), done


def mended(folder, changes):
    text = SCRIPT.read_text(encoding="utf-8")
    for old, new in changes.items():
        assert old in text
        text = text.replace(old, new)
    script = folder / "mended.py"
    script.write_text(text, encoding="utf-8")
    return script


def test_the_same_three_mistakes_and_the_tail_with_two_places_each(tmp_path):
    report, _ = run(SCRIPT, tmp_path)
    live = {(one["code"], one["site"]["line"], one["severity"]) for one in report["violations"]}
    found = findings_of(SCRIPT.read_text(encoding="utf-8"), "train.py")
    assert live == {(one.code, one.place.row, one.severity.value) for one in found}
    assert sum(severity == "error" for _, _, severity in live) == 3
    assert all(one["previous"]["line"] != one["site"]["line"] for one in report["violations"])
    assert {one["site"]["function"] for one in report["violations"]} == {"train_one_epoch"}


def test_the_weights_add_up_to_the_window(tmp_path):
    report, done = run(SCRIPT, tmp_path)
    sums = report["optimizers"][0]["weight_sum"]
    assert sums["graph"]["last"] == pytest.approx(4, rel=1e-6)
    assert sums["arithmetic"]["last"] == pytest.approx(4, rel=1e-6)
    assert sums["ledger"]["max"] < 1e-3
    assert "clip" in {touch["what"] for touch in report["optimizers"][0]["touches"]}
    assert "clip" in done.stderr


def test_without_the_clip_the_ledger_too_gives_the_window(tmp_path):
    script = mended(tmp_path, {"        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)\n": ""})
    report, _ = run(script, tmp_path)
    assert report["optimizers"][0]["weight_sum"]["ledger"]["last"] == pytest.approx(4, rel=1e-5)
    assert [one["code"] for one in report["violations"]] == ["missing-loss-division", "dropped-tail-window"]


def test_the_mended_script_is_confirmed(tmp_path):
    report, done = run(mended(tmp_path, MENDED), tmp_path)
    assert report["violations"] == []
    assert "3 windows of 4 micro-steps, weight 1.000" in done.stderr
    assert "clipped after unscale_" in done.stderr
    assert "CosineAnnealingLR once per update" in done.stderr
    assert "0 steps skipped by the scaler" in done.stderr


def test_the_timeline_and_the_norms_are_those_of_the_run(tmp_path):
    report, _ = run(SCRIPT, tmp_path)
    steps = [event["micro_step"] for event in report["timeline"][0]["events"] if event["event"] == "scaler_step"]
    assert steps == [4]
    (norms,) = report["curves"]["gradient_norm"].values()
    windows = [at for at, _ in norms]
    assert len(windows) == len(set(windows))
    assert all(0 < norm < 100 for _, norm in norms), "without the loss scale, which is 65536"
