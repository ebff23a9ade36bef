"""What is told besides the findings, how severe they are, and what is told of files that are none."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from amplint.cli import main
from amplint.report import full
from tests.command_line.planted import planted

BAD = "loss.backward()\nclip_grad_norm_(p)\n"
ROOT = Path(__file__).parents[2]


def test_a_finding_names_the_command_that_tells_more_once_for_each_rule(amplint, write):
    write({"a.py": BAD, "b.py": BAD})
    assert amplint().out.count("= page: amplint rule clip-before-unscale\n") == 1


def test_the_pages_of_the_rules_that_speak_follow_if_they_are_asked_for(amplint, write):
    write({"a.py": BAD + "clip_grad_norm_(p)\n"})
    told = amplint("--explain", "--output-format", "concise").out
    assert told.count("clip-before-unscale: clipping rule, error, with a safe fix") == 1
    assert told.index("a.py:3:1") < told.index("clipping rule") < told.index("Found 2 errors")
    assert json.loads(amplint("--explain", "--output-format", "json").out)


def test_severities_are_those_of_the_configuration_and_an_id_goes_before_a_family(amplint, write):
    write({"a.py": BAD + "unscale_(o)\n", "pyproject.toml": '[tool.amplint.severity]\nclipping = "warning"\n'})
    told = amplint("-q", "--output-format", "concise")
    assert (told.code, [line.split()[1] for line in told.out.splitlines()]) == (
        1,
        ["warning[clip-before-unscale]", "error[repeated-unscale]"],
    )
    both = '[tool.amplint.severity]\nclipping = "error"\nclip-before-unscale = "warning"\nscaler = "warning"\n'
    write({"pyproject.toml": both})
    assert amplint("-q").code == 0
    assert "severity: scaler: warning" in amplint("--show-settings").out


@pytest.mark.parametrize(
    ("table", "wrong"),
    [
        ('severity = { clipping = "fatal" }', "must be error or warning, not `fatal`"),
        ('severity = { cliping = "error" }', "no rule or family is called `cliping`"),
        ("severity = 3", "must be a table"),
        ('versions = { torch = "abc" }', "must be bounds of a version, such as `>=2.4,<3`, not `abc`"),
        ('versions = { torch = ">=2.4, or so" }', "must be bounds of a version"),
    ],
)
def test_what_means_nothing_is_refused(amplint, write, table, wrong):
    write({"pyproject.toml": f"[tool.amplint]\n{table}\n", "a.py": ""})
    ended = amplint()
    assert ended.code == 2
    assert wrong in ended.err


@pytest.mark.parametrize(
    "bounds", ["", ">=2.4,<3", "^2.1", "~=2.4", "==2.6.*", "2.4.1", ">= 2.4, != 2.5.0", "2.6.0+cpu", "*"]
)
def test_bounds_as_people_write_them_are_understood(amplint, write, bounds):
    write({"pyproject.toml": f'[tool.amplint]\nversions = {{ torch = "{bounds}" }}\n', "a.py": ""})
    assert amplint().code == 0


@pytest.mark.parametrize(
    ("content", "why"),
    [
        ("", "the notebook is empty"),
        ("null", "not a notebook: it has no cells"),
        ("{}", "not a notebook: it has no cells"),
        ("[]", "not a notebook: it has no cells"),
    ],
)
def test_a_file_that_is_no_notebook_is_an_error_where_it_is_given_by_name(amplint, write, content, why):
    write({"a.ipynb": content})
    ended = amplint("a.ipynb", "-q", "--output-format", "concise")
    assert (ended.code, ended.out.split()[1]) == (1, "error[unreadable-file]")
    assert why in ended.out
    write({"a.ipynb": '{"cells": []}'})
    assert amplint("a.ipynb").code == 0


@pytest.mark.skipif(sys.platform in ("win32", "darwin"), reason="file names are Unicode there")
@pytest.mark.parametrize(
    "form", ["full", "concise", "json", "jsonl", "sarif", "github", "github-summary", "gitlab", "junit"]
)
def test_a_file_name_that_is_not_utf_8_is_told_in_every_format(project, capsys, form):
    shutil_source = (ROOT / "tests" / "example" / "train.py").read_bytes()
    (Path(os.fsdecode(os.path.join(os.fsencode(project), b"tr\xff.py")))).write_bytes(shutil_source)
    assert main(["--no-cache", "--output-format", form]) == 1
    told = capsys.readouterr().out
    assert told.count("clip-before-unscale")
    if form == "sarif":
        assert '"uri": "tr%FF.py"' in told


def test_no_message_has_a_word_that_was_not_filled_in(amplint):
    told = json.loads(amplint("rule", "--output-format", "json").out)
    assert not [rule["id"] for rule in told if "{" in rule["message"] + rule["advice"]]
    assert any("threshold is \N{HORIZONTAL ELLIPSIS}, so" in rule["message"] for rule in told)


def test_sarif_has_no_such_word_either(project, capsys):
    assert main(["--isolated", "--output-format", "sarif", str(ROOT / "tests" / "example" / "train.py")]) == 1
    (run,) = json.loads(capsys.readouterr().out)["runs"]
    texts = [rule["fullDescription"]["text"] for rule in run["tool"]["driver"]["rules"]]
    assert len(texts) == 4
    assert not [text for text in texts if "{" in text]


def test_a_summary_for_a_job_is_a_table_that_no_message_breaks(amplint, write):
    def piped(text, filename):
        from dataclasses import replace

        return [replace(one, message="a | b <c>\nd") for one in planted(text, filename)]

    write({"a.py": BAD})
    told = amplint("--output-format", "github-summary", analysis=piped).out
    assert "| error | `clip-before-unscale` | `a.py:2:1` | a \\| b &lt;c> d |\n" in told
    assert told.endswith("Found 1 error in 1 file.\n")
    write({"a.py": ""})
    assert amplint("a.py", "--output-format", "github-summary").out == "## amplint\n\nAll checks passed!\n"


def test_what_python_thinks_of_the_users_code_is_not_told(project, write):
    text = (
        (ROOT / "tests" / "example" / "train.py").read_text().replace("import torch\n", 'import torch\nS = "\\d"\n', 1)
    )
    write({"train.py": text})
    command = [sys.executable, "-W", "error", "-m", "amplint", "--no-cache", "--output-format", "gitlab"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, cwd=project, env=environment, capture_output=True, text=True)
    assert (done.returncode, done.stderr) == (1, "")


def test_messages_are_parted_between_words_where_a_terminal_is_narrow():
    from amplint.findings import Finding, Place, Severity
    from amplint.report import Report

    said = "the gradient is four times that of the equivalent batch, and with it the norm"
    finding = Finding("a.py", Place(1, 1, 1, 2), "clip-before-unscale", Severity.ERROR, said, "divide the loss " * 5)
    wide, narrow = (full.render(Report((finding,), width=width)) for width in (0, 60))
    assert said in wide
    assert max(map(len, narrow.splitlines())) <= 60
    assert " ".join(narrow.split()) == " ".join(wide.split())


def test_an_interrupt_tells_what_is_finished_and_writes_no_baseline(amplint, write, project):
    def second_is_interrupted(text, filename):
        if filename == "b.py":
            raise KeyboardInterrupt
        return planted(text, filename)

    write({"a.py": BAD, "b.py": BAD, "c.py": BAD})
    ended = amplint("-q", "--output-format", "concise", "--jobs", "1", analysis=second_is_interrupted)
    assert (ended.code, ended.out.count("\n"), ended.out[:5]) == (130, 1, "a.py:")
    assert "interrupted" in ended.err
    assert amplint("--write-baseline", "--jobs", "1", analysis=second_is_interrupted).code == 130
    assert not (project / "amplint-baseline.json").exists()
