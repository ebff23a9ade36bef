"""Small projects of several files: each mark is found in the file where it stands, and nothing else anywhere.

What a file is told does not depend on which other files were named.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from amplint.cli import main

TREES = sorted(path for path in (Path(__file__).parent / "trees").iterdir() if path.is_dir())
FILES = sorted(file for tree in TREES for file in tree.rglob("*.py"))


def told(capsys: pytest.CaptureFixture[str], *paths: Path, jobs: str = "1") -> list[tuple[str, int, str]]:
    main(["--isolated", "--no-cache", "--output-format", "json", "--jobs", jobs, *map(str, paths)])
    found = json.loads(capsys.readouterr().out)
    return sorted((finding["filename"], finding["location"]["row"], finding["code"]) for finding in found)


def marked(*files: Path) -> list[tuple[str, int, str]]:
    return sorted(
        (str(file), row, rule)
        for file in files
        for row, line in enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
        for rule in re.findall(r"# expect: ([\w-]+)", line)
    )


@pytest.mark.parametrize("tree", TREES, ids=lambda tree: tree.name)
def test_what_is_marked_in_a_tree_is_found_and_nothing_else(tree, capsys):
    assert told(capsys, tree) == marked(*tree.rglob("*.py"))


@pytest.mark.parametrize("file", FILES, ids=lambda file: f"{file.parent.name}/{file.name}")
def test_a_file_by_itself_is_told_the_same(file, capsys):
    assert told(capsys, file) == marked(file)


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_neither_the_order_of_files_nor_the_number_of_processes_matters(jobs, capsys):
    assert told(capsys, *reversed(FILES), jobs=jobs) == marked(*FILES)
