"""One version, wherever it is written."""

import re
from importlib import metadata
from pathlib import Path

import pytest

from amplint.cli import main

ROOT = Path(__file__).parents[2]


def declared():
    return re.search(r'^__version__ = "(.+)"$', (ROOT / "amplint" / "__init__.py").read_text(encoding="utf-8"), re.M)[1]


def test_the_installed_version_is_the_declared_one():
    assert metadata.version("amplint") == declared()


def test_the_newest_entry_of_the_changelog_is_the_declared_version():
    versions = re.findall(r"^## \[(\d[^]]*)\]", (ROOT / "CHANGELOG.md").read_text(encoding="utf-8"), re.M)
    assert versions[0] == declared()


@pytest.mark.parametrize("name", ["README.md", "docs/ci.md"])
def test_a_hook_that_is_shown_is_pinned_to_the_declared_version(name):
    text = (ROOT / name).read_text(encoding="utf-8")
    assert re.findall(r"^ +rev: v(\S+)$", text, re.M) == [declared()]


def test_a_citation_names_the_declared_version():
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    assert re.findall(r"^version: (\S+)$", text, re.M) == [declared()]


def test_every_workflow_and_the_action_are_pinned_to_commits():
    files = [ROOT / "action.yml", *sorted((ROOT / ".github" / "workflows").glob("*.yml"))]
    used = [line for file in files for line in re.findall(r"uses: (\S+)", file.read_text(encoding="utf-8"))]
    assert len(used) > 5
    assert [one for one in used if one != "./" and not re.search(r"@[0-9a-f]{40}$", one)] == []


def test_the_command_line_tells_the_declared_version(capsys):
    try:
        code = main(["--version"])
    except SystemExit as left:
        code = left.code
    assert not code
    assert capsys.readouterr().out.split()[-1] == declared()


@pytest.mark.parametrize("package", ["amplint", "runtime_guard"])
def test_both_packages_are_typed(package):
    assert (ROOT / package / "py.typed").is_file()
