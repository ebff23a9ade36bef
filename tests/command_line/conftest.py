from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from amplint import selection
from amplint.catalogue.rule import Rule, Tier
from amplint.cli import main
from amplint.run import Analysis
from tests.command_line.planted import planted


class Ended(NamedTuple):
    code: int
    out: str
    err: str


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder to work in."""
    for name in ("NO_COLOR", "FORCE_COLOR", "AMPLINT_CACHE_DIR", "AMPLINT_OUTPUT_FORMAT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def write(project: Path) -> Callable[..., None]:
    """Write files of the project: `write({"src/train.py": "..."})`, as text or bytes."""

    def written(files: dict[str, str | bytes]) -> None:
        for name, content in files.items():
            file = project / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content if isinstance(content, bytes) else content.encode())

    return written


@pytest.fixture
def amplint(project: Path, capsys: pytest.CaptureFixture[str]) -> Callable[..., Ended]:
    """The command, as a function of its arguments."""

    def run(*arguments: str, analysis: Analysis | None = planted) -> Ended:
        capsys.readouterr()
        code = main(list(arguments), analysis)
        return Ended(code, *capsys.readouterr())

    return run


@pytest.fixture
def two_more_rules(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A catalogue with an opt-in rule and a rule of the live half, both of the family `scheduler`."""
    opt_in = Rule(Tier.OPT_IN, "", "", find=lambda fact: False, id="opt-in-rule", family="scheduler")
    live = Rule(Tier.WARNING, "", "", id="live-rule", family="scheduler")
    known = selection.known_rules()
    kept = (selection.found_by_reading, selection._chosen, selection._named)
    for rule in (opt_in, live):
        monkeypatch.setitem(known, rule.id, rule)
    for cached in kept:
        cached.cache_clear()
    yield
    for cached in kept:
        cached.cache_clear()
