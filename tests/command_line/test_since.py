"""Only what has changed since a state of the repository, and what imports it."""

from __future__ import annotations

import subprocess

import pytest

BAD = "loss.backward()\nclip_grad_norm_(p)\n"


@pytest.fixture
def git(project):
    def run(*words: str) -> None:
        who = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "init.defaultBranch=main")
        subprocess.run(["git", *who, *words], cwd=project, check=True, capture_output=True)

    run("init", "-q")
    return run


@pytest.fixture
def files(amplint):
    def run(*arguments: str) -> list[str]:
        return amplint("--since", *arguments, "--show-files").out.split()

    return run


def test_changed_new_and_importing_files_are_checked(amplint, files, git, write):
    write({"a.py": BAD, "helper.py": "def f(): ...\n", "part.py": "import helper\n", "whole.py": "import part\n" + BAD})
    git("add", "-A")
    git("commit", "-qm", "x")
    assert files("HEAD") == []
    write({"fresh.py": BAD})
    assert files("HEAD") == ["fresh.py"]
    write({"helper.py": "def f(): return 1\n"})
    assert files("HEAD") == ["fresh.py", "helper.py", "part.py", "whole.py"]
    ended = amplint("--since", "HEAD", "--output-format", "concise", "-q")
    assert (ended.code, [line.split(":")[0] for line in ended.out.splitlines()]) == (1, ["fresh.py", "whole.py"])


def test_what_others_changed_meanwhile_is_left_out(files, git, write):
    write({"a.py": BAD, "b.py": BAD})
    git("add", "-A")
    git("commit", "-qm", "x")
    git("checkout", "-qb", "mine")
    write({"a.py": BAD + "# mine\n"})
    git("commit", "-qam", "y")
    git("checkout", "-q", "main")
    write({"b.py": BAD + "# theirs\n"})
    git("commit", "-qam", "z")
    git("checkout", "-q", "mine")
    assert files("main") == ["a.py"]


def test_what_git_does_not_know_is_refused(amplint, git, write, monkeypatch):
    write({"a.py": BAD})
    ended = amplint("--since", "nowhere")
    assert (ended.code, ended.err) == (2, "amplint: --since: `nowhere` is no commit of this repository\n")
    assert amplint("--since", "--output=x").code == 2
    assert "needs files, not stdin" in amplint("--since", "HEAD", "-").err
    monkeypatch.setenv("PATH", "")
    assert "Git, which cannot be run" in amplint("--since", "HEAD").err


def test_outside_a_repository_git_says_so(amplint, project, write):
    write({"a.py": BAD})
    ended = amplint("--since", "HEAD")
    assert ended.code == 2
    assert "not a git repository" in ended.err
