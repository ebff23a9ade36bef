from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from amplint.source.discover import discover


@pytest.fixture(autouse=True)
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def make(*names: str, **contents: str) -> None:
    for name in names:
        Path(name).parent.mkdir(parents=True, exist_ok=True)
        Path(name).write_text(contents.get(name, ""))


def found(*paths: str) -> list[str]:
    return [file.path.replace(os.sep, "/") for file in discover(paths or ["."]).files]


def test_python_files_below_a_folder_in_order():
    make("b.py", "a/z.py", "a/b/c.pyi", "a.txt", "a/run", "setup.cfg")
    assert found() == ["a/b/c.pyi", "a/z.py", "b.py"]
    assert found("a", "b.py") == found()
    assert found("./a/../a/") == ["a/b/c.pyi", "a/z.py"]


def test_a_file_given_by_name_may_be_called_anything():
    make("train", "train.txt")
    assert found("train", "train.txt") == ["train", "train.txt"]


def test_each_file_once_even_if_named_twice(here):
    make("a/train.py")
    assert found("a", "a/train.py", ".", "./a/train.py", str(here / "a")) == ["a/train.py"]


def test_files_outside_the_working_directory_have_absolute_paths(here, monkeypatch):
    make("a/train.py", "b/x")
    monkeypatch.chdir(here / "b")
    assert found("../a") == [str(here / "a" / "train.py")]


@pytest.mark.parametrize("folder", [".git", ".venv", "venv", "node_modules", "__pycache__", "build", "dist", ".tox"])
def test_the_usual_folders_are_not_entered_unless_they_are_named(folder):
    make(f"{folder}/train.py", f"a/{folder}/b/train.py")
    assert found() == []
    assert found(folder, f"a/{folder}/b/train.py") == sorted([f"{folder}/train.py", f"a/{folder}/b/train.py"])


def test_links_to_folders_are_followed_and_loops_end(here):
    make("z/train.py", "z/b/more.py")
    os.symlink(here, "z/b/loop")
    os.symlink(here / "z", "a")
    os.symlink("itself", "itself")
    assert found() == ["z/b/more.py", "z/train.py"]


def test_what_is_only_reached_through_a_link_is_known_by_the_link(here):
    make("outside/lib/train.py", "inside/x.py")
    os.symlink(here / "outside" / "lib", "inside/lib")
    os.symlink(here / "outside" / "lib" / "train.py", "inside/linked.py")
    assert len(found("inside")) == 2
    assert found() == ["inside/x.py", "outside/lib/train.py"]


def test_a_broken_link_is_passed_over_below_a_folder_and_missing_by_name():
    os.symlink("nowhere.py", "broken.py")
    assert found() == []
    assert discover(["broken.py", "nosuch"]).missing == ("broken.py", "nosuch")


# --- git's ignore files ----------------------------------------------------------------------------------------------


def ignoring(rules: dict[str, str]) -> None:
    for folder, text in rules.items():
        Path(folder).mkdir(parents=True, exist_ok=True)
        (Path(folder) / ".gitignore").write_text(text)


def test_what_git_ignores_is_passed_over():
    make("a.py", "gen/b.py", "src/gen/c.py", "src/keep_gen.py", "src/d_pb2.py", "top.py", "src/top.py")
    ignoring({".": "gen/\n*_pb2.py\n/top.py\n# comment\n\n"})
    assert found() == ["a.py", "src/keep_gen.py", "src/top.py"]


def test_deeper_ignore_files_win():
    make("a/x.py", "a/b/x.py", "a/b/y.py")
    ignoring({".": "x.py\n", "a/b": "!x.py\ny.py\n"})
    assert found() == ["a/b/x.py"]


def test_ignore_files_count_from_the_root_of_the_repository():
    make("repo/src/a.py", "repo/src/b.py", "repo/src/c.py")
    ignoring({".": "*.py\n", "repo": "b.py\n/src/c.py\n"})
    assert found("repo/src") == ["repo/src/a.py", "repo/src/b.py", "repo/src/c.py"]
    Path("repo/.git").mkdir()
    assert found("repo/src") == ["repo/src/a.py"]
    Path("repo/.git/info").mkdir()
    Path("repo/.git/info/exclude").write_text("a.py\n")
    assert found("repo/src") == []


def test_who_names_an_ignored_path_wants_it():
    make("out/a.py", "out/b/c.py", "out/b/d_gen.py")
    Path(".git").mkdir()
    ignoring({".": "out/\n*_gen.py\n"})
    assert found() == []
    assert found("out") == ["out/a.py", "out/b/c.py"]
    assert found("out/b") == ["out/b/c.py"]
    assert found("out/b/d_gen.py") == ["out/b/d_gen.py"]


def test_a_rule_that_cannot_be_read_spoils_no_other():
    make("a.py", "b.py")
    ignoring({".": "!\n/\n**a***\na.py\n\\\n"})
    assert "a.py" not in found()


def test_the_same_files_as_git(here):
    make(*(f"{a}/{b}/{c}.py" for a in ("src", "lib", "doc") for b in ("one", "two") for c in ("x", "y", "z_gen")))
    rules = {
        ".": "*_gen.py\n!lib/**/z_gen.py\n/doc/*\n!/doc/two\nsrc/two/\n",
        "lib": "one/*\n!one/x.py\n",
        "src/one": "[xy].py\n!y.py\n",
    }
    ignoring(rules)
    environment = {**os.environ, "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_SYSTEM": os.devnull}
    try:
        subprocess.run(["git", "init", "-q"], check=True, env=environment)
    except FileNotFoundError:
        pytest.skip("there is no git here")
    listed = subprocess.run(
        ["git", "ls-files", "-o", "--exclude-standard", "*.py"], capture_output=True, text=True, env=environment
    )
    assert found() == sorted(listed.stdout.split())
