"""`python -m runtime_guard`: a script runs as it would alone, and is reported on whatever happens."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.runtime.forked import run_module

ROOT = Path(__file__).parents[2]

LOOP = """\
import sys
import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_
torch.manual_seed(0)
model = nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=64.0)
for index in range(6):
    optimizer.zero_grad()
    with torch.autocast("cpu", dtype=torch.float16):
        loss = nn.functional.cross_entropy(model(torch.randn(4, 4)), torch.randint(3, (4,)))
    scaler.scale(loss).backward()
    {unscale}
    clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
print("windows:", index + 1, "arguments:", sys.argv[1:], "name:", __name__)
{after}
"""


@pytest.fixture
def script(tmp_path):
    def write(unscale="pass", after="pass"):
        path = tmp_path / "script.py"
        path.write_text(LOOP.format(unscale=unscale, after=after), encoding="utf-8")
        return path

    return write


RIGHT = "scaler.unscale_(optimizer)"


def run(folder, *arguments):
    return run_module("runtime_guard", [str(argument) for argument in arguments], folder)


def test_a_right_script_ends_as_it_would_alone(script, tmp_path):
    done = run(tmp_path, script(RIGHT), "--lr", "3")
    assert done.status == 0
    assert "windows: 6 arguments: ['--lr', '3'] name: __main__" in done.stdout
    assert "confirmed: 6 windows of 1 micro-step, weight 1.000" in done.stderr


@pytest.mark.parametrize(
    ("options", "status"),
    [
        ([], 0),
        (["--mode", "record"], 0),
        (["--mode", "raise"], 1),
        (["--exit-code", "7"], 7),
        (["--mode", "raise", "--exit-code", "7"], 7),
        (["--mode", "record", "--exit-code", "7", "--ignore", "clipping"], 0),
    ],
    ids=str,
)
def test_the_status_of_a_wrong_script_is_what_the_mode_says(script, tmp_path, options, status):
    assert run(tmp_path, *options, script()).status == status


@pytest.mark.parametrize(("after", "status"), [("sys.exit(5)", 5), ("raise ValueError('no')", 1)])
def test_a_script_that_fails_by_itself_keeps_its_status_and_traceback(script, tmp_path, after, status):
    report = tmp_path / "report.json"
    done = run(tmp_path, "--exit-code", "7", "--report", report, script("pass", after))
    assert done.status == status
    assert "runner.py" not in done.stderr
    assert ("ValueError: no" in done.stderr) is (status == 1)
    assert json.loads(report.read_text())["violations"][0]["code"] == "clip-before-unscale"


ASKED = "import os, signal; os.kill(os.getpid(), signal.SIGTERM)"
OWN = "import signal; signal.signal(signal.SIGTERM, lambda *_: sys.exit(5))"
CHAINED = """\
import signal
def own(number, frame):
    if callable(before):
        before(number, frame)
before = signal.signal(signal.SIGTERM, own)"""
FORKED = """\
import os, signal, time
child = os.fork()
if not child:
    time.sleep(20)
    os._exit(0)
os.kill(child, signal.SIGTERM)
assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == -signal.SIGTERM"""


@pytest.mark.skipif(sys.platform == "win32", reason="there a process is terminated without being asked")
@pytest.mark.parametrize(
    ("after", "status"),
    [
        (f"try:\n    {ASKED}\nfinally:\n    print('unwound')", -15),
        (f"{OWN}\n{ASKED}", 5),
        (f"{CHAINED}\n{ASKED}", 0),
        (FORKED, 0),
    ],
    ids=["default", "own handler", "handler that calls the one before", "forked child"],
)
def test_a_run_that_is_asked_to_terminate_is_reported_and_ends_as_alone(script, tmp_path, after, status):
    report = tmp_path / "report.json"
    done = run(tmp_path, "--report", report, script("pass", after))
    assert done.status == status
    assert "unwound" not in done.stdout
    assert done.stderr.count("seen: 6 windows") == 1
    told = json.loads(report.read_text())
    assert (told["windows"]["count"], told["violations"][0]["code"]) == (6, "clip-before-unscale")


def test_mode_raise_ends_the_run_at_the_call(script, tmp_path):
    done = run(tmp_path, "--mode", "raise", script())
    assert "windows:" not in done.stdout
    assert "ProtocolViolation: [clip-before-unscale]" in done.stderr


def test_a_run_is_ended_cleanly_after_so_many_windows(script, tmp_path):
    report = tmp_path / "report.json"
    done = run(tmp_path, "--stop-after-windows", "2", "--report", report, script(RIGHT))
    assert done.status == 0
    assert "windows:" not in done.stdout
    assert json.loads(report.read_text())["windows"]["count"] == 2


def test_a_module_is_run_by_its_name(script, tmp_path, monkeypatch):
    script(RIGHT)
    monkeypatch.chdir(tmp_path)
    assert "name: __main__" in run(tmp_path, "-m", "script", "--more").stdout


def test_a_script_that_is_not_there_is_said_in_one_line(tmp_path):
    done = run(tmp_path, tmp_path / "missing.py")
    assert done.status == 2
    assert "missing.py: No such file or directory" in done.stderr


@pytest.mark.parametrize("arguments", [[], ["--mode", "loud", "x.py"], ["--probe-every", "0", "x.py"]], ids=str)
def test_arguments_that_cannot_be_used_end_with_two(tmp_path, arguments):
    assert run(tmp_path, *arguments).status == 2


def test_the_report_has_the_agreed_form(script, tmp_path):
    report = tmp_path / "report.json"
    run(tmp_path, "--mode", "record", "--report", report, script())
    found = json.loads(report.read_text())
    assert {"schema", "torch", "world_size", "violations", "windows", "optimizers", "scalers", "schedulers"} < set(
        found
    )
    assert "not_covered" in found
    [violation] = found["violations"]
    assert violation["code"] == "clip-before-unscale"
    assert violation["severity"] == "error"
    assert violation["site"] == {
        "file": violation["site"]["file"],
        "line": 15,
        "function": "<module>",
        "source": "clip_grad_norm_(model.parameters(), 1.0)",
    }
    assert violation["previous"]["line"] == 13
    assert (violation["window"], violation["count"], violation["rank"]) == (1, 6, 0)
    assert found["windows"]["micro_steps"] == {"1": 6}


def test_a_disabled_scaler_is_never_called_confirmed(script, tmp_path):
    text = script(RIGHT).read_text().replace("init_scale=64.0", "enabled=False")
    path = tmp_path / "disabled.py"
    path.write_text(text)
    done = run(tmp_path, path)
    assert "a scaler that is not enabled" in done.stderr
    assert "skipped by the scaler" not in done.stderr


def test_without_torch_it_says_which_python_lacks_it(tmp_path):
    bare = [sys.executable, "-S", "-m", "runtime_guard", "script.py"]  # -S: nothing that was installed is there
    done = subprocess.run(bare, cwd=tmp_path, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True)
    assert done.returncode == 2
    assert done.stderr == (
        f"runtime_guard: {sys.executable} has no torch; run the guard with the Python that trains: "
        "`python -m pip install` amplint there, then `python -m runtime_guard ...`\n"
    )


@pytest.mark.parametrize("name", [".", "script.py/report.json"])
def test_a_report_that_cannot_be_written_is_said_before_the_run(script, tmp_path, name):
    done = run(tmp_path, "--report", name, script(RIGHT))
    assert (done.status, done.stdout) == (2, "")
    assert f"runtime_guard: {name} " in done.stderr


def test_a_report_lands_where_the_run_began(script, tmp_path):
    run(tmp_path, "--report", "new/report.json", script(RIGHT, "import os; os.chdir('/')"))
    assert json.loads((tmp_path / "new" / "report.json").read_text("utf-8"))["windows"]["count"] == 6


def test_a_report_that_cannot_be_written_afterwards_is_not_lost(script, tmp_path):
    done = run(tmp_path, "-q", "--report", "new/report.json", script(RIGHT, "open('new', 'w').close()"))
    assert done.status == 0
    name = done.stderr.strip().rpartition(" ")[2]
    assert json.loads(Path(name).read_text("utf-8"))["windows"]["count"] == 6
    Path(name).unlink()
