"""What must not be imported, because every run of a hook or an editor pays for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parent.parent.parent


def imported(code: str, cwd: Path) -> set[str]:
    """The modules that are there after the code has run in a fresh interpreter."""
    program = f"import sys\n{code}\nprint(*sys.modules, sep='\\n', file=sys.stderr)"
    ended = subprocess.run(
        [sys.executable, "-c", program], cwd=cwd, env={"PYTHONPATH": str(ROOT)}, capture_output=True, text=True
    )
    assert ended.returncode == 0, ended.stderr
    return set(ended.stderr.split())


def run(*arguments: str) -> str:
    return f"from amplint.cli import main\nmain({list(arguments)})"


def test_the_package_imports_nothing(tmp_path):
    assert imported("import amplint", tmp_path) - imported("", tmp_path) == {"amplint"}


@pytest.mark.parametrize("arguments", [["--help"], ["--version"], ["rule"], ["."], ["--select", "ALL", "."]])
def test_no_libcst_where_no_file_holds_training_words(tmp_path, arguments):
    (tmp_path / "other.py").write_text("x = 1\n")
    (tmp_path / "comment.py").write_text("x = 1  # amplint: ignore\n")
    modules = imported(run(*arguments), tmp_path)
    assert not modules & {"libcst", "torch", "multiprocessing", "concurrent", "pathspec", "tomllib"}


def test_pathspec_and_tomllib_where_there_is_something_to_read(tmp_path):
    (tmp_path / ".gitignore").write_text("*.pyc\n")
    (tmp_path / "pyproject.toml").write_text("[tool.amplint]\n")
    modules = imported(run("."), tmp_path)
    assert "pathspec" in modules
    assert modules & {"tomllib", "tomli"}


def test_libcst_where_a_file_holds_training_words(tmp_path):
    (tmp_path / "train.py").write_text("loss.backward()\n")
    assert "libcst" in imported(run("."), tmp_path)


def test_reports_need_neither_libcst_nor_torch(tmp_path):
    code = (
        "import amplint.report, importlib\n[importlib.import_module(name) for name in amplint.report.FORMATS.values()]"
    )
    assert not imported(code, tmp_path) & {"libcst", "torch"}
