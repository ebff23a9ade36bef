from __future__ import annotations

import json
import os

import pytest

from tests.command_line.planted import failing, interrupted

CLEAN = "loss.backward()\n"
BAD = "loss.backward()\nclip_grad_norm_(p)\n"
DOUBTFUL = "with tail():\n    loss.backward()\n"


def test_nothing_found_is_0(amplint, write):
    write({"train.py": CLEAN})
    assert amplint() == (0, "All checks passed!\n", "")


def test_an_error_is_1(amplint, write):
    write({"train.py": BAD})
    assert amplint().code == 1


def test_a_warning_is_0_unless_strict(amplint, write):
    write({"train.py": DOUBTFUL})
    assert amplint().code == 0
    assert amplint("--strict").code == 1


def test_exit_zero_turns_1_into_0_and_nothing_else(amplint, write):
    write({"train.py": BAD})
    assert amplint("--exit-zero").code == 0
    assert amplint("--exit-zero", "--strict").code == 0
    assert amplint("--exit-zero", "nosuch.py").code == 2
    write({"fault.py": "our own fault: autocast"})
    assert amplint("--exit-zero", analysis=failing).code == 3


def test_a_path_that_does_not_exist_is_2_and_the_others_are_done(amplint, write):
    write({"train.py": BAD})
    ended = amplint("nosuch.py", "train.py", "--output-format", "concise")
    assert ended.code == 2
    assert "nosuch.py: no such file or folder" in ended.err
    assert "train.py:2:1: error[clip-before-unscale]" in ended.out


def test_no_praise_where_something_could_not_be_done(amplint):
    assert amplint("nosuch.py").out == ""


def test_a_fault_of_our_own_is_3_is_named_and_the_others_are_done(amplint, write):
    write({"a.py": BAD, "b.py": "our own fault: autocast", "c.py": BAD})
    ended = amplint("--output-format", "json", analysis=failing)
    assert ended.code == 3
    assert [os.path.basename(finding["filename"]) for finding in json.loads(ended.out)] == ["a.py", "c.py"]
    assert "b.py: a fault of amplint's own" in ended.err
    assert "TypeError: a node of a kind that nobody expected" in ended.err
    assert "Python 3" in ended.err


def test_an_interrupt_is_130(amplint, write):
    write({"train.py": BAD})
    assert amplint(analysis=interrupted).code == 130


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--selct", "x"], "unrecognized arguments: --selct"),
        (["--jobs", "0"], "--jobs: must be a whole number from 1"),
        (["--output-format", "xml"], "no format is called `xml`"),
        (["--select", "clip-before-unscal"], "did you mean `clip-before-unscale`?"),
        (["--ignore", "no such thing"], "--ignore: no rule or family is called `no such thing`"),
        (["--extend-select", "Clip_Before_Unscale"], "did you mean `clip-before-unscale`?"),
        (["--isolated", "--config", "x.toml"], "exclude each other"),
        (["--config", "nosuch.toml"], "nosuch.toml: No such file"),
        (["-", "train.py"], "cannot be given together with other paths"),
        (["--stdin-filename", "a.py", "train.py"], 'needs "-"'),
        (["--output-file", "nosuch/report.txt"], "nosuch/report.txt cannot be written: No such file"),
        (["rule", "clip-before-unscal"], "did you mean `clip-before-unscale`?"),
    ],
)
def test_arguments_that_cannot_be_followed_are_2_and_one_line(amplint, write, arguments, said):
    write({"train.py": CLEAN})
    ended = amplint(*arguments)
    assert ended.code == 2
    assert ended.out == ""
    assert said in ended.err
    assert ended.err.count("\n") == 1


def test_help_and_version_are_0(amplint):
    assert amplint("--help").code == 0
    assert "exit status:" in amplint("-h").out
    assert amplint("rule", "--help").code == 0
    ended = amplint("--version")
    assert ended.code == 0
    assert ended.out.startswith("amplint ")
