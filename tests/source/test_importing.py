"""Who imports a file is looked for in its project, and noticed when it changes."""

import os

import pytest

from amplint.source import importing
from amplint.source.asked import recorded
from amplint.source.importing import importers, state


@pytest.fixture
def project(tmp_path):
    (tmp_path / "setup.cfg").touch()
    (tmp_path / "pkg").mkdir()
    (tmp_path / "pkg" / "__init__.py").write_text("from .steps import advance\n")
    (tmp_path / "pkg" / "steps.py").write_text("def advance(): ...\n")
    (tmp_path / "main.py").write_text("from pkg import advance\n")
    (tmp_path / "direct.py").write_text("import pkg.steps\n")
    (tmp_path / "steps.md").write_text("import pkg.steps\n")
    (tmp_path / "talk.py").write_text("import json  # no pkg, no steps\n")
    return tmp_path


def names(project):
    return [os.path.basename(path) for path in importers(str(project / "pkg" / "steps.py"))]


def test_those_who_import_it_and_those_who_import_its_package_are_found(project):
    assert names(project) == ["direct.py", "main.py"]


def test_a_file_that_comes_or_goes_is_noticed(project):
    before = state(str(project / "pkg" / "steps.py"))
    assert names(project) == ["direct.py", "main.py"]
    (project / "pkg" / "late.py").write_text("from .steps import advance\n")
    (project / "main.py").unlink()
    assert names(project) == ["direct.py", "late.py"]
    assert state(str(project / "pkg" / "steps.py")) != before


def test_a_file_that_is_written_anew_is_read_anew(project):
    assert names(project) == ["direct.py", "main.py"]
    (project / "direct.py").write_text("import json  # and not pkg.steps any more\n")
    assert names(project) == ["main.py"]


def test_what_was_asked_is_written_down(project):
    path = str(project / "pkg" / "steps.py")
    with recorded() as answers:
        importers(path)
    assert answers[importing.QUESTION, path] == state(path)


def test_without_a_mark_a_project_is_the_folder_of_the_file(tmp_path, monkeypatch):
    monkeypatch.setattr(importing, "begins", lambda folder: False)
    (tmp_path / "inner").mkdir()
    (tmp_path / "inner" / "steps.py").touch()
    (tmp_path / "inner" / "beside.py").write_text("import steps\n")
    (tmp_path / "above.py").write_text("import inner.steps\n")
    found = importers(str(tmp_path / "inner" / "steps.py"))
    assert [os.path.basename(path) for path in found] == ["beside.py"]
    monkeypatch.chdir(tmp_path)
    found = importers(str(tmp_path / "inner" / "steps.py"))
    assert sorted(os.path.basename(path) for path in found) == ["above.py", "beside.py"]


def test_of_a_project_with_too_many_files_nothing_is_known(project, monkeypatch):
    monkeypatch.setattr(importing, "MOST_FILES", 2)
    assert names(project) == []


def test_a_file_that_cannot_be_read_imports_nothing(project):
    (project / "large.py").write_text("from pkg import steps\n" + "#" * (1 << 20))
    assert names(project) == ["direct.py", "main.py"]


def test_a_folder_that_is_gone_is_noticed(project):
    (project / "inner").mkdir()
    (project / "inner" / "more.py").write_text("from pkg import steps\n")
    assert names(project) == ["direct.py", "more.py", "main.py"]
    (project / "inner" / "more.py").unlink()
    (project / "inner").rmdir()
    assert names(project) == ["direct.py", "main.py"]
