"""`pytest --runtime-guard[=raise|warn|record]` guards every test; the fixture `runtime_guard` is the guard of a test.

Loading this file imports neither torch nor anything else of this package: it is loaded by every run of pytest in an
environment where the package is installed. In mode `raise` a violation fails the test that ran into it; in the others
a summary names the violations of each test. A test that asks for the fixture is guarded in any case, in mode `raise`
unless the option says otherwise. The environment variable `RUNTIME_GUARD` has the last word on the mode, as always.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from runtime_guard.guarding import guard as Guard

MODES = ("raise", "warn", "record")
PROPERTY = "runtime_guard"
_KEY = pytest.StashKey["Guard"]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """Adds `--runtime-guard`; without a value it warns."""
    group = parser.getgroup("runtime_guard", "runtime_guard: mistakes of training steps")
    group.addoption(
        "--runtime-guard",
        nargs="?",
        const="warn",
        choices=MODES,
        metavar="raise|warn|record",
        help="run every test under runtime_guard (warn when no mode is given)",
    )


def pytest_report_header(config: pytest.Config) -> str | None:
    """Says when there is nothing to guard."""
    if config.getoption("--runtime-guard") and not _torch_is_here():
        return "runtime_guard: torch is not installed, nothing is guarded"
    return None


def _torch_is_here() -> bool:
    return importlib.util.find_spec("torch") is not None


def _new(mode: str) -> Guard:
    from runtime_guard.guarding import guard

    return guard(mode=mode)


@pytest.fixture
def runtime_guard(request: pytest.FixtureRequest) -> Guard:
    """The guard that the test runs under; it listens while the test function runs."""
    if not _torch_is_here():
        pytest.skip("runtime_guard needs torch")
    made = _new(request.config.getoption("--runtime-guard") or "raise")
    request.node.stash[_KEY] = made
    return made


@pytest.hookimpl(wrapper=True)
def pytest_runtest_call(item: pytest.Item) -> Generator[None, Any, Any]:
    """Guards the call of a test; what was found travels with the test's report, to another process too."""
    mode = item.config.getoption("--runtime-guard")
    guarded = item.stash.get(_KEY, None)
    if guarded is None and (mode is None or not _torch_is_here()):
        return (yield)
    guarded = guarded or _new(mode)
    try:
        with guarded:
            return (yield)
    finally:
        item.user_properties += [(PROPERTY, one.text()) for one in guarded.violations]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The violations of each test, for the modes in which they do not fail it."""
    found = list(_found(terminalreporter))
    if not found:
        return
    terminalreporter.section("runtime_guard")
    for test, texts in found:
        terminalreporter.write_line(test, bold=True)
        for text in texts:
            terminalreporter.write_line("  " + text.replace("\n", "\n  "))


def _found(reporter: pytest.TerminalReporter) -> Iterator[tuple[str, list[str]]]:
    """Every test with violations, by name; those of a test that was run again are named once."""
    told: dict[str, list[str]] = {}
    for outcome in ("passed", "failed", "xfailed", "xpassed"):
        for report in reporter.stats.get(outcome, ()):
            texts = [str(value) for name, value in getattr(report, "user_properties", ()) if name == PROPERTY]
            if report.when == "call" and texts:
                told[report.nodeid] = texts
    return iter(sorted(told.items()))
