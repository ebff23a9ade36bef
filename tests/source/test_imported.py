"""Which files the imports of a file lead to."""

import pytest

from amplint.source.imported import families, imported, leads_to

TREE = {
    "pkg/__init__.py": "from .steps import train  # the one\n",
    "pkg/steps.py": "import torch\n\nfrom pkg.losses import (\n    total,  # of all\n    weighted as w,\n)\n",
    "pkg/losses.py": "def total(): ...\n",
    "pkg/empty/__init__.py": "",
    "pkg/empty/alone.py": "",
    "broken.py": "from pkg import \\\n    train\nprint 'Python 2'\n",
}


@pytest.fixture
def tree(tmp_path, monkeypatch):
    for name, text in TREE.items():
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ("from pkg import train\n", {"pkg/__init__.py"}),
        ("from pkg.losses import total, weighted\n", {"pkg/losses.py"}),
        ("import pkg.losses as losses, pkg.steps\n", {"pkg/losses.py", "pkg/steps.py"}),
        ("def late():\n    from pkg.losses import (total,\n        weighted)\n", {"pkg/losses.py"}),
        ("from pkg.losses import *\n", {"pkg/losses.py"}),
        ("from pkg.empty import alone\n", {"pkg/empty/alone.py"}),
        ("from torch import nn  # from pkg import train\n", set()),
        ("import os, json\nx = 1\n", set()),
    ],
)
def test_import_statements_name_files(tree, text, files):
    (tree / "main.py").write_text(text)
    assert imported("main.py") == files


@pytest.mark.parametrize(
    ("text", "target", "leads"),
    [
        ("from pkg import train\n", "pkg/losses.py", True),
        ("from pkg.empty.alone import x\n", "pkg/losses.py", False),
        ("from pkg.losses import total\n", "pkg/steps.py", False),
        ("import broken\n", "pkg/losses.py", True),
        ("", "pkg/losses.py", False),
    ],
)
def test_imports_lead_from_file_to_file(tree, text, target, leads):
    (tree / "main.py").write_text(text)
    assert leads_to("main.py", target) is leads


def test_files_that_import_each_other_come_to_an_end(tree):
    (tree / "a.py").write_text("import b\n")
    (tree / "b.py").write_text("import a\n")
    assert not leads_to("a.py", "pkg/losses.py")


def test_what_is_not_there_leads_nowhere(tree):
    assert imported("missing.py") == frozenset()


def test_a_family_is_all_files_of_which_one_leads_to_another(tree):
    (tree / "main.py").write_text("from pkg import train\n")
    (tree / "own.py").write_text("import os\n")
    files = ["own.py", "main.py", "pkg/empty/alone.py", "pkg/losses.py", "broken.py"]
    assert families(files) == [[0], [1, 3, 4], [2]]
    assert families([]) == []
