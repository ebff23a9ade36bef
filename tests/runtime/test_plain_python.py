"""A script finds the same about itself under the guard as in plain Python, and its tracebacks are its own."""

import os
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

LOOKS = """\
import os, sys
import __main__
print(__file__, sys.argv, sys.path[0], sys.path[1:3] == [], __name__, __spec__ and __spec__.name, __package__)
print(sorted(name for name in globals() if name.startswith("__")), type(__loader__).__name__, __doc__)
print(__main__.__dict__ is globals(), sys.modules["__main__"] is __main__, __builtins__.__name__)
os.makedirs("elsewhere", exist_ok=True)
os.chdir("elsewhere")
print(os.path.abspath(__file__))
if os.path.isfile(__file__):
    print(open(__file__).read(9))
"""
RAISES = """\
import torch
def inner(loss):
    loss.backward()
    loss.backward()
def outer():
    try:
        inner(torch.nn.Linear(1, 1)(torch.ones(1)).exp().sum())
    except RuntimeError as error:
        raise ValueError("second") from error
outer()
"""


def run(folder, *arguments, guarded, path=""):
    paths = [str(ROOT)] if not path else [path, str(ROOT)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}
    command = [sys.executable, *(["-m", "runtime_guard", "-q"] if guarded else []), *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=120)


def laid_out(folder):
    (folder / "below").mkdir()
    (folder / "below" / "look.py").write_text(f'"""Said."""\n{LOOKS}', encoding="utf-8")
    (folder / "look.py").write_text(LOOKS, encoding="utf-8")
    (folder / "package").mkdir()
    (folder / "package" / "__main__.py").write_text(LOOKS, encoding="utf-8")
    (folder / "linked.py").symlink_to(folder / "below" / "look.py")
    with zipfile.ZipFile(folder / "packed.zip", "w") as packed:
        packed.writestr("__main__.py", LOOKS)


TARGETS = (
    ["look.py", "--x", "1"],
    ["./below/look.py"],
    ["linked.py"],
    ["package"],
    ["packed.zip"],
    ["-m", "look", "a"],
    ["-m", "package"],
)


@pytest.mark.parametrize("target", TARGETS, ids=" ".join)
def test_a_script_finds_what_it_finds_in_plain_python(tmp_path, target):
    laid_out(tmp_path)
    plain, guarded = (run(tmp_path, *target, guarded=under) for under in (False, True))
    assert plain.returncode == 0, plain.stderr
    assert guarded.stdout == plain.stdout


@pytest.mark.skipif(sys.version_info < (3, 11), reason="Python has a safe path since 3.11")
def test_in_safe_mode_no_folder_is_put_on_the_path(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONSAFEPATH", "1")
    (tmp_path / "look.py").write_text("import sys; print(sys.path)", encoding="utf-8")
    plain, guarded = (run(tmp_path, "look.py", guarded=under) for under in (False, True))
    assert guarded.stdout == plain.stdout


def test_a_traceback_shows_the_frames_of_the_script_alone(tmp_path):
    (tmp_path / "train.py").write_text(RAISES, encoding="utf-8")
    plain, guarded = (run(tmp_path, "train.py", guarded=under) for under in (False, True))
    assert plain.returncode == guarded.returncode == 1
    assert "runtime_guard" not in guarded.stderr
    assert guarded.stderr == plain.stderr


def test_an_interrupted_script_shows_its_own_traceback_once(tmp_path):
    source = "import os, signal, time\nos.kill(os.getpid(), signal.SIGINT)\ntime.sleep(9)\n"
    (tmp_path / "train.py").write_text(source, encoding="utf-8")
    plain, guarded = (run(tmp_path, "train.py", guarded=under) for under in (False, True))
    assert (guarded.returncode, guarded.stderr) == (plain.returncode, plain.stderr)
