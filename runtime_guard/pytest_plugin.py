"""`pytest --runtime-guard[=raise|warn|record]` guards every test; the fixture `runtime_guard` is the guard of a test.

Loading this file imports neither torch nor anything else of this package: it is loaded by every run of pytest in an
environment where the package is installed. In mode `raise` a violation fails the test that ran into it; in the others
a summary names the violations of each test. A test that asks for the fixture is guarded in any case, in mode `raise`
unless the option says otherwise. The environment variable `RUNTIME_GUARD` has the last word on the mode, as always.

In mode `raise` a guard that is off, or that cannot follow what is stepped, fails the test; so does a test that asks for
the fixture and steps no optimizer. Of all other tests together at least one must step an optimizer.
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
STEPS = "runtime_guard_steps"
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
    if guarded is None:
        guarded = _new(mode)
        guarded.whole = False  # most tests train nothing
    try:
        with guarded:
            result = yield
    finally:
        item.user_properties += [(PROPERTY, f"off: {reason}") for reason in guarded.off]
        item.user_properties += [(PROPERTY, one.text()) for one in guarded.violations]
        if guarded.mode == "raise":
            item.user_properties.append((STEPS, guarded.recorder.tally.steps))
    if guarded.mode == "raise" and guarded.recorder.tally.steps + len(guarded.off):
        guarded.demand()
    return result


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Fails a session in which every test was guarded and no optimizer was seen to step."""
    reporter = session.config.pluginmanager.get_plugin("terminalreporter")
    if reporter is not None and not session.exitstatus and _idle(reporter):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _idle(reporter: pytest.TerminalReporter) -> bool:
    """Whether tests were guarded in mode `raise`, and none of them has stepped an optimizer."""
    steps = [count for report in _outcomes(reporter) for name, count in report.user_properties if name == STEPS]
    return bool(steps) and not any(steps)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The violations of each test, for the modes in which they do not fail it."""
    found, idle = list(_found(terminalreporter)), _idle(terminalreporter)
    if not found and not idle:
        return
    terminalreporter.section("runtime_guard")
    if idle:
        terminalreporter.write_line("nothing was checked: no test has stepped an optimizer", red=True)
    for test, texts in found:
        terminalreporter.write_line(test, bold=True)
        for text in texts:
            terminalreporter.write_line("  " + text.replace("\n", "\n  "))


def _found(reporter: pytest.TerminalReporter) -> Iterator[tuple[str, list[str]]]:
    """Every test with violations, by name; those of a test that was run again are named once."""
    told: dict[str, list[str]] = {}
    for report in _outcomes(reporter):
        texts = [str(value) for name, value in report.user_properties if name == PROPERTY]
        if texts:
            told[report.nodeid] = texts
    return iter(sorted(told.items()))


def _outcomes(reporter: pytest.TerminalReporter) -> Iterator[pytest.TestReport]:
    """The reports of all calls of tests."""
    for outcome in ("passed", "failed", "xfailed", "xpassed"):
        yield from (one for one in reporter.stats.get(outcome, ()) if getattr(one, "when", None) == "call")
