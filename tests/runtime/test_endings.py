"""How a run has ended stands in the terminal, in the JSON and on the page; a process that is killed leaves its last
report."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from runtime_guard import guard

ROOT = Path(__file__).parents[2]

LOOP = """\
import os, signal, sys, time
import torch
from torch import nn
torch.manual_seed(0); signal.signal(signal.SIGINT, signal.default_int_handler)  # which a background job lacks
model = nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

def train(windows):
    for index in range(windows):
        optimizer.zero_grad()
        nn.functional.cross_entropy(model(torch.randn(4, 4)), torch.randint(3, (4,))).backward()
        optimizer.step()

def fail():
    raise ValueError("no\\nmore")

train(6)
{end}
"""
ENDS = {
    "pass": ("complete", "by itself", None, 0),
    "sys.exit(0)": ("complete", "by itself", None, 0),
    "sys.exit(4)": ("left", "the script has left with status 4", 18, 4),
    "fail()": ("raised", "raised ValueError: no", 15, 1),
    "os.kill(os.getpid(), signal.SIGINT); time.sleep(9)": ("signal", "interrupted by SIGINT", 18, -signal.SIGINT),
    "os.kill(os.getpid(), signal.SIGTERM); time.sleep(9)": ("signal", "terminated by SIGTERM", None, -signal.SIGTERM),
}


def run(folder, end, *options):
    (folder / "train.py").write_text(LOOP.format(end=end), encoding="utf-8")
    command = [sys.executable, "-m", "runtime_guard", "--report", "told.json", "--html", "told.html", *options]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    return subprocess.run(
        [*command, "train.py"], cwd=folder, env=environment, capture_output=True, text=True, timeout=120
    )


def reported(folder):
    return json.loads((folder / "told.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize(("end", "how", "told", "line", "status"), [(end, *told) for end, told in ENDS.items()])
def test_every_ending_is_told_everywhere(tmp_path, end, how, told, line, status):
    done, report = run(tmp_path, end), None
    assert done.returncode == status
    report = reported(tmp_path)
    assert (report["ended"]["how"], report["ended"]["told"]) == (how, told)
    assert (report["ended"]["site"] or {}).get("line") == line
    place = f", at train.py:{line}" if line is not None else ""
    assert f"\nended: {told}{place}\n" in done.stderr
    page = (tmp_path / "told.html").read_text(encoding="utf-8")
    assert f"Ended: {told}" in page
    assert report["windows"]["count"] == 6


def test_a_run_that_was_to_stop_after_windows_says_so(tmp_path):
    done = run(tmp_path, "pass", "--stop-after-windows", "3")
    assert done.returncode == 0
    assert reported(tmp_path)["ended"]["told"] == "stopped after 3 windows, as asked"
    assert "ended: stopped after 3 windows, as asked, at train.py:11" in done.stderr


@pytest.mark.parametrize(("end", "status"), [("os._exit(3)", 3), ("os.kill(os.getpid(), signal.SIGKILL)", -9)])
def test_a_process_that_is_killed_leaves_the_last_report(tmp_path, end, status):
    assert run(tmp_path, end, "--flush-every", "0").returncode == status
    report = reported(tmp_path)
    assert report["ended"]["how"] == "unfinished"
    assert report["windows"]["count"] == 6
    assert "Ended: not yet: written at" in (tmp_path / "told.html").read_text(encoding="utf-8")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["told.html", "told.json", "train.py"]


def test_within_the_interval_nothing_is_written(tmp_path):
    assert run(tmp_path, "os._exit(3)", "--flush-every", "3600").returncode == 3
    assert sorted(path.name for path in tmp_path.iterdir()) == ["train.py"]


def test_a_steady_loop_is_reported_on_too(tmp_path):
    end = "train(300)\nprint(open('told.json').read().count('unfinished'), flush=True)\nos._exit(0)"
    assert run(tmp_path, end, "--flush-every", "0").stdout == "1\n"
    assert reported(tmp_path)["windows"]["count"] == 306


def test_what_is_known_at_the_end_is_told_of_a_script_that_leaves_with_0(tmp_path):
    source = LOOP.replace("        optimizer.zero_grad()\n", "")
    for end, found in (("sys.exit(0)", ["missing-zero-grad"]), ("sys.exit(1)", [])):
        (tmp_path / "train.py").write_text(source.format(end=end), encoding="utf-8")
        command = [sys.executable, "-m", "runtime_guard", "-q", "--report", "told.json", "train.py"]
        subprocess.run(command, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(ROOT)}, timeout=120)
        assert [one["code"] for one in reported(tmp_path)["violations"]] == found


def test_a_block_says_how_it_has_ended():
    with pytest.raises(ZeroDivisionError), guard(mode="record") as found:
        assert found.ending.how == "unfinished"
        1 / 0  # noqa: B018
    assert (found.ending.how, found.ending.site.path) == ("raised", __file__)


@pytest.mark.parametrize("name", ["file", "file/below", "locked"])
def test_a_directory_for_tensorboard_that_cannot_be_written_is_refused_before_the_run(tmp_path, name):
    (tmp_path / "file").write_text("")
    (tmp_path / "locked").mkdir(mode=0o500)
    if name == "locked" and os.access(tmp_path / "locked", os.W_OK):
        pytest.skip("whoever runs this may write everywhere")
    done = run(tmp_path, "print('ran')", "--tensorboard", name)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"runtime_guard: {name} cannot be written; name a directory that can, or that can be made\n"
