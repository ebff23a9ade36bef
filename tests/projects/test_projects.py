"""Small projects of several files: each mark is found in the file where it stands, and nothing else anywhere.

What a file is told does not depend on which other files were named. `# missed: ID` is a known gap: the mark must go
once it is found.
"""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from amplint.analysis import findings_of
from amplint.cli import main
from amplint.findings import Finding
from amplint.run import Analysis
from amplint.source.prefilter import holds_training_words
from amplint.workers import PER_PROCESS, WORTH_A_POOL
from tests.command_line.planted import PLANTS, planted

TREES = sorted(path for path in (Path(__file__).parent / "trees").iterdir() if path.is_dir())
PLANT = next(iter(PLANTS))
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
        for rules in re.findall(r"# expect: ([\w-]+(?:, *[\w-]+)*)", line)
        for rule in re.split(", *", rules)
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


def test_there_are_enough_of_them_for_two_processes():
    training = [file for file in FILES if holds_training_words(file.read_bytes())]
    assert len(training) >= max(WORTH_A_POOL, 2 * PER_PROCESS)


def one_by_one(analysis: Analysis, files: list[Path]) -> dict[Path, list[Finding]]:
    """What an analysis says of files that it reads one after the other, in one process."""
    return {file: analysis(file.read_text(encoding="utf-8"), str(file)) for file in files}


def test_what_was_read_before_does_not_matter():
    assert one_by_one(findings_of, FILES) == one_by_one(findings_of, FILES[::-1])


def test_of_a_linter_that_remembers_it_would_show():
    assert one_by_one(_remembering(), FILES) != one_by_one(_remembering(), FILES[::-1])


def _remembering() -> Analysis:
    """An analysis that speaks of every file but the first one that it sees."""
    seen: list[str] = []

    def found(text: str, filename: str) -> list[Finding]:
        seen.append(filename)
        return planted(f"{PLANT}({filename!r})", filename) if len(seen) > 1 else []

    return found
