from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from amplint.workers import WORTH_A_POOL
from tests.command_line.planted import deadly

FILES = {
    f"part{n % 3}/train_{n:02}.py": f"loss.backward()\n{'#' * n}\nclip_grad_norm_(p)\n" for n in range(WORTH_A_POOL)
}


def test_results_do_not_depend_on_the_number_of_processes(amplint, write):
    write(FILES)
    assert amplint("--jobs", "1") == amplint("--jobs", "2") == amplint("--jobs", "3")


def test_a_file_that_takes_its_process_down_is_named_and_the_others_are_done(amplint, write):
    write({**FILES, "part1/deadly.py": "take it down: autocast"})
    ended = amplint("--jobs", "2", "--output-format", "concise", "-q", analysis=deadly)
    assert ended.code == 3
    assert "part1/deadly.py: a fault of amplint's own" in ended.err
    assert ended.out.count("clip-before-unscale") == len(FILES) * 2  # the code, and the message that names it


@pytest.mark.skipif(sys.platform == "win32", reason="there are no process groups to interrupt")
def test_an_interrupt_ends_the_processes_at_once(project, write):
    """Control-C goes to the whole group; nobody waits for files that are being analysed."""
    write(FILES)
    code = "import signal, sys; from tests.command_line.planted import waiting; from amplint.cli import main; "
    code += "signal.signal(signal.SIGINT, signal.default_int_handler); "  # a shell's background jobs ignore it
    code += "sys.exit(main(['--jobs', '2', '--no-cache', '-q'], waiting))"
    search = os.pathsep.join([str(Path(__file__).parents[2]), *sys.path])
    run = subprocess.Popen(
        [sys.executable, "-c", code], start_new_session=True, env={**os.environ, "PYTHONPATH": search}
    )
    try:
        while not (project / "begun").exists():
            assert run.poll() is None
            time.sleep(0.05)
        os.killpg(run.pid, signal.SIGINT)
        assert run.wait(timeout=60) == 130
    finally:
        if run.poll() is None:
            os.killpg(run.pid, signal.SIGKILL)
            run.wait()


@pytest.mark.skipif(not Path("/proc/self/stat").exists(), reason="the processes of a session are read from /proc")
def test_the_processes_end_with_a_main_process_that_is_killed(project, write):
    """Neither those that work nor those that wait for work outlive it."""
    write(FILES)
    code = "import sys; from tests.command_line.planted import waiting; from amplint.cli import main; "
    code += "sys.exit(main(['--jobs', '2', '--no-cache', '-q'], waiting))"
    search = os.pathsep.join([str(Path(__file__).parents[2]), *sys.path])
    run = subprocess.Popen(
        [sys.executable, "-c", code], start_new_session=True, env={**os.environ, "PYTHONPATH": search}
    )
    try:
        while not (project / "begun").exists():
            assert run.poll() is None
            time.sleep(0.05)
        assert len(session(run.pid)) > 2  # the main process, the server that forks, and the workers
        run.kill()
        run.wait()
        end = time.monotonic() + 60
        while session(run.pid) and time.monotonic() < end:
            time.sleep(0.05)
        assert session(run.pid) == []
    finally:
        for number in session(run.pid):
            os.kill(number, signal.SIGKILL)
        run.wait()


def session(leader):
    """The processes of a session that are no corpses."""
    found = []
    for path in Path("/proc").glob("[0-9]*/stat"):
        try:
            state, _, _, owner = path.read_text().rpartition(")")[2].split()[:4]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(owner) == leader and state != "Z":
            found.append(int(path.parent.name))
    return found
