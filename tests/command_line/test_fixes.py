"""Fixes from the command line: offered, told as a patch, written; and files that are never damaged."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from amplint.cli import main

HEAD = """\
import torch
from torch.nn.utils import clip_grad_norm_


def train(model, loader, criterion):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for inputs, targets in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(model(inputs), targets)
        scaler.scale(loss).backward()
"""
TAIL = """\
        clip_grad_norm_(model.parameters(), 1.0)  # keep it small
        scaler.step(optimizer)
        scaler.update()
"""
UNSCALE = "        scaler.unscale_(optimizer)\n"
BAD, GOOD = HEAD + TAIL, HEAD + UNSCALE + TAIL


@pytest.fixture
def fixed(amplint, project):
    """The command with amplint's own analysis, and what train.py holds afterwards."""

    def run(*arguments):
        ended = amplint(*arguments, analysis=None)
        return ended, (project / "train.py").read_bytes().decode()

    return run


def test_a_fix_is_written_and_told(fixed, write):
    write({"train.py": BAD})
    ended, text = fixed("--fix")
    assert (ended.code, text) == (0, GOOD)
    assert ended.out == "Fixed 1 finding. All checks passed!\n"


def test_what_is_fixable_is_said(fixed, write):
    write({"train.py": BAD})
    ended, text = fixed()
    assert (ended.code, text) == (1, BAD)
    assert "error[clip-before-unscale] [*]: " in ended.out
    assert ended.out.endswith("Found 1 error in 1 file.\n[*] 1 fixable with the `--fix` option.\n")


def test_the_json_holds_the_edits(amplint, write):
    write({"train.py": BAD})
    (finding,) = json.loads(amplint("--output-format", "json", analysis=None).out)
    edit = {"content": UNSCALE, "location": {"row": 13, "column": 1}, "end_location": {"row": 13, "column": 1}}
    assert finding["fix"] == {
        "applicability": "safe",
        "message": "call `scaler.unscale_(optimizer)` before the clip",
        "edits": [edit],
    }


def test_a_diff_is_a_patch_that_git_applies(amplint, project, write):
    write({"src/train.py": BAD})
    ended = amplint("--diff", analysis=None)
    assert ended.code == 1
    assert (project / "src/train.py").read_text() == BAD
    subprocess.run(["git", "apply", "-"], input=ended.out, text=True, check=True)
    assert (project / "src/train.py").read_text() == GOOD
    assert amplint("--diff", analysis=None) == (0, "", "")


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize(
    "name", ["a b/c d.py", "größe/日本.py", 'quo"te.py', "tab\tname.py", "new\nline.py", "b\\s.py"]
)
def test_a_patch_names_any_file_as_git_does(amplint, project, write, name, end):
    write({name: BAD.replace("\n", end).rstrip("\r\n").encode()})
    ended = amplint("--diff", analysis=None)
    subprocess.run(["git", "apply", "-"], input=ended.out.encode(), check=True)
    assert (project / name).read_bytes().decode() == GOOD.replace("\n", end).rstrip("\r\n")


def test_a_patch_of_a_notebook_is_one_that_git_applies(amplint, project, write):
    bad, good = (text.split("\n\n\n") for text in (BAD, GOOD))
    write({"train.ipynb": notebook(*bad, indent=1)})
    subprocess.run(["git", "apply", "-"], input=amplint("--diff", analysis=None).out, text=True, check=True)
    assert (project / "train.ipynb").read_text() == notebook(*good, indent=1)


def test_fix_only_is_silent_about_the_rest(fixed, write):
    write({"train.py": BAD + "    torch.autocast()\n"})
    ended, text = fixed("--fix-only")
    assert (ended.code, ended.out, UNSCALE in text) == (0, "", True)


def test_a_run_that_mended_something_can_fail(fixed, write):
    write({"train.py": BAD})
    assert fixed("--fix", "--exit-non-zero-on-fix")[0].code == 1
    assert fixed("--fix", "--exit-non-zero-on-fix")[0].code == 0


@pytest.mark.parametrize("setting", ['unfixable = ["clip-before-unscale"]', 'fixable = ["scheduler"]'])
def test_rules_that_are_not_fixable_are_only_told(fixed, write, setting):
    write({"train.py": BAD, "pyproject.toml": f"[tool.amplint]\n{setting}\n"})
    ended, text = fixed("--fix")
    assert (ended.code, text) == (1, BAD)
    assert "[*]" not in ended.out


def test_what_a_comment_hides_is_not_mended(fixed, write):
    hidden = BAD.replace("# keep it small", "# amplint: ignore[clip-before-unscale]")
    write({"train.py": hidden})
    assert fixed("--fix")[1] == hidden


def test_stdin_comes_back_mended():
    command = [sys.executable, "-m", "amplint", "--isolated", "--fix", "-"]
    ended = subprocess.run(command, input=BAD.encode(), capture_output=True, check=True)
    assert ended.stdout.decode() == GOOD


# --- files are never damaged -----------------------------------------------------------------------------------------


@pytest.mark.parametrize("end", ["\r\n", "\r", "\n"])
@pytest.mark.parametrize("mark", ["", "\ufeff"])
def test_line_ends_and_a_byte_order_mark_are_kept(fixed, write, end, mark):
    write({"train.py": (mark + BAD.replace("\n", end)).encode()})
    assert fixed("--fix")[1] == mark + GOOD.replace("\n", end)


def test_the_encoding_is_kept(project, amplint, write):
    line = "# -*- coding: latin-1 -*-\n# é\n"
    write({"train.py": (line + BAD).encode("latin-1")})
    assert amplint("--fix", analysis=None).code == 0
    assert (project / "train.py").read_bytes() == (line + GOOD).encode("latin-1")


def test_tabs_are_kept(fixed, write):
    write({"train.py": BAD.replace("    ", "\t")})
    assert fixed("--fix")[1] == GOOD.replace("    ", "\t")


def test_permissions_and_links_are_kept(fixed, project, write):
    write({"real.py": BAD})
    os.chmod(project / "real.py", 0o754)
    os.symlink("real.py", project / "train.py")
    assert fixed("--fix", "--no-cache", "train.py")[1] == GOOD
    assert (project / "train.py").is_symlink()
    assert (project / "real.py").stat().st_mode & 0o777 == 0o754
    assert sorted(os.listdir(project)) == ["real.py", "train.py"]


def test_another_name_of_a_file_keeps_what_it_has(fixed, project, write):
    write({"train.py": BAD})
    os.link(project / "train.py", project / "backup.txt")
    assert fixed("--fix")[1] == GOOD
    assert (project / "backup.txt").read_text() == BAD


def test_attributes_are_kept(fixed, project, write):
    write({"train.py": BAD})
    try:
        os.setxattr(project / "train.py", "user.origin", b"here")
    except (AttributeError, OSError):
        pytest.skip("this file system has no attributes")
    assert fixed("--fix")[1] == GOOD
    assert os.getxattr(project / "train.py", "user.origin") == b"here"


def test_a_file_that_is_locked_is_left_alone_even_by_root(fixed, project, write):
    write({"train.py": BAD})
    os.chmod(project / "train.py", 0o444)
    ended, text = fixed("--fix", "--no-cache")
    assert (ended.code, text) == (2, BAD)
    assert "train.py: not written: Permission denied" in ended.err
    assert os.listdir(project) == ["train.py"]


@pytest.mark.skipif(sys.platform == "win32", reason="no limits there")
def test_a_disk_that_is_full_leaves_the_file_whole(project, write):
    write({"train.py": BAD})
    code = (
        "import resource, sys; from amplint.cli import main; "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (100, 100)); sys.exit(main(['--fix', '--no-cache']))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (ended.returncode, (project / "train.py").read_text()) == (2, BAD)
    assert "train.py: not written: File too large" in ended.stderr
    assert os.listdir(project) == ["train.py"]


def test_nothing_is_written_where_nothing_changes(amplint, project, write):
    write({"train.py": GOOD})
    before = (project / "train.py").stat()
    assert amplint("--fix", analysis=None).code == 0
    after = (project / "train.py").stat()
    assert (before.st_ino, before.st_mtime_ns) == (after.st_ino, after.st_mtime_ns)


def test_a_file_that_somebody_else_has_written_meanwhile_is_left_alone(project, write, capsys):
    from amplint.analysis import findings_of

    write({"train.py": BAD})

    def meanwhile(text, filename):
        (project / "train.py").write_text(BAD + "# mine\n")
        return findings_of(text, filename)

    assert main(["--fix"], meanwhile) == 2
    assert (project / "train.py").read_text() == BAD + "# mine\n"
    assert "train.py: not written: it was changed by somebody else meanwhile" in capsys.readouterr().err


def test_an_interrupted_run_leaves_the_file_whole(project, write, monkeypatch):
    write({"train.py": BAD})

    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", interrupted)
    assert main(["--fix", "--no-cache"]) == 130
    assert (project / "train.py").read_text() == BAD
    assert os.listdir(project) == ["train.py"]


@pytest.mark.skipif(not hasattr(signal, "pthread_sigmask"), reason="signals cannot wait there")
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_waits_until_the_file_is_whole(project, write, how):
    write({"train.py": BAD})
    code = (
        "import os, signal, sys; from amplint.cli import main; sync = os.fsync; "
        "signal.signal(signal.SIGINT, signal.default_int_handler); "  # a shell's background jobs ignore it
        f"os.fsync = lambda file: (sync(file), os.kill(os.getpid(), {int(how)})); "
        "sys.exit(main(['--fix', '--no-cache']))"
    )
    ended = subprocess.run([sys.executable, "-c", code], capture_output=True)
    assert ended.returncode == (130 if how is signal.SIGINT else -how)
    assert (project / "train.py").read_text() == GOOD
    assert os.listdir(project) == ["train.py"]


# --- notebooks -------------------------------------------------------------------------------------------------------


def notebook(*cells, whole=False, **layout):
    """A notebook's text; `whole`: a source is one string, else a list of lines."""
    document = {
        "cells": [
            {
                "cell_type": "code",
                "source": cell if whole else cell.splitlines(keepends=True),
                "outputs": [{"text": "\u00e9"}],
                "metadata": {},
            }
            for cell in cells
        ],
        "metadata": {"kernelspec": {"language": "python"}},
        "nbformat": 4,
    }
    return json.dumps(document, **layout)


@pytest.mark.parametrize(
    "layout", [{"indent": 1}, {"indent": 2, "ensure_ascii": False}, {}, {"indent": "\t"}, {"whole": True}]
)
@pytest.mark.parametrize("end", ["", "\n", "\r\n"])
def test_only_the_lines_of_the_cell_change_in_a_notebook(amplint, project, write, layout, end):
    first, second = HEAD.split("\n\n\n")
    bad, good = ([first, (second + rest).rstrip("\n")] for rest in (TAIL, UNSCALE + TAIL))
    line = end or "\n"
    write({"train.ipynb": (notebook(*bad, **layout) + end).replace("\n", line).encode()})
    assert amplint("--fix", analysis=None).code == 0
    after = (project / "train.ipynb").read_bytes().decode()
    assert after == (notebook(*good, **layout) + end).replace("\n", line)
