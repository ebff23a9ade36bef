from __future__ import annotations

import io

import pytest

from amplint.report import progress
from amplint.report.paint import wants_colour


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


@pytest.mark.parametrize(
    ("stream", "environ", "wanted"),
    [
        (Terminal(), {}, True),
        (Terminal(), {"NO_COLOR": "1"}, False),
        (Terminal(), {"NO_COLOR": ""}, True),
        (Terminal(), {"TERM": "dumb"}, False),
        (io.StringIO(), {}, False),
    ],
)
def test_colours_are_for_terminals_that_want_them(stream, environ, wanted):
    assert wants_colour(stream, environ) is wanted


@pytest.mark.parametrize(("stream", "environ"), [(Terminal(), {"CI": "true"}), (io.StringIO(), {})])
def test_no_progress_where_nobody_looks(stream, environ, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    shown = progress.Progress(stream, environ)
    shown(1, 2, "train.py")
    shown.clear()
    assert stream.getvalue() == ""


def test_progress_is_shown_on_a_long_run_only_and_cleared(monkeypatch):
    patient, hasty = Terminal(), Terminal()
    progress.Progress(patient, {})(1, 2, "train.py")
    assert patient.getvalue() == ""
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    shown = progress.Progress(hasty, {})
    shown(1, 2, "train.py")
    shown.clear()
    assert "checked 1 of 2 files" in hasty.getvalue()
    assert hasty.getvalue().endswith("\r\x1b[K")


def test_a_file_that_is_waited_for_long_is_named(monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.0)
    monkeypatch.setattr(progress, "INTERVAL", 0.0)
    stream = Terminal()
    shown = progress.Progress(stream, {})
    shown(0, 3, "quick.py")
    monkeypatch.setattr(progress, "SLOW", 0.0)
    shown(1, 3, "slow.py")
    shown.clear()
    assert "quick.py" not in stream.getvalue()
    assert "checked 1 of 3 files, slow.py for 0 s" in stream.getvalue()
