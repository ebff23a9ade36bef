"""The scripts of this folder, run under the guard: each mark is found, and nothing else.

A script begins with a docstring, then `# right`, or `# wrong: <id>, ...`, and `# exits: 1` where torch itself ends the
run. The expectation stands on the line, as in the examples of a rule's page: `# expect: <id>`; `# missed: <id>` is a
known gap, and strict; `# suspect: <id>` is what the linter alone says: the guard cannot know that it was meant
otherwise, or has seen that it does not happen. A mark of a rule that the catalogue does not have yet waits for it.
"""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path

import pytest

from amplint.analysis import findings_of
from amplint.catalogue import RULES
from tests.runtime.forked import run_module

FOLDER = Path(__file__).parent / "scripts"
SCRIPTS = sorted(FOLDER.glob("*.py"))
MARK = re.compile(r"# (expect|missed|suspect): ([\w-]+(?:, *[\w-]+)*)")
HEAD = re.compile(r"^# (right|wrong: [^\n]+)\n(?:# exits: (\d+)\n)?", re.M)

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the children are forked")


def marks(script, kind):
    """`row: rule` of each mark of one kind that a rule of the catalogue can meet, sorted."""
    rows = enumerate(script.read_text(encoding="utf-8").splitlines(), 1)
    found = [
        (row, rule.strip())
        for row, line in rows
        for word, rules in MARK.findall(line)
        for rule in rules.split(",")
        if word == kind
    ]
    return [f"{row}: {rule}" for row, rule in sorted(found) if rule in RULES]


def head(script):
    """The rules that a script's header names, and the status that it ends with."""
    found = HEAD.search(script.read_text(encoding="utf-8"))
    assert found, f"{script.name} says neither `# right` nor `# wrong: ...`"
    named = found[1].removeprefix("wrong: ").split(", ") if found[1] != "right" else []
    return named, int(found[2] or 0)


def guarded(script, space):
    """The guard's report of a script, and how the run ended."""
    report = space / "report.json"
    done = run_module("runtime_guard", ["--mode", "record", "--report", str(report), str(script)], space)
    assert report.exists(), done.stdout + done.stderr
    return json.loads(report.read_text(encoding="utf-8")), done


def told(report, script):
    """Every violation of a report as `row: rule`, each place once, sorted; all of them stand in the script itself."""
    places = {
        (violation["site"]["file"], violation["site"]["line"], violation["code"]) for violation in report["violations"]
    }
    assert {Path(file).name for file, _, _ in places} <= {script.name}
    return [f"{row}: {rule}" for _, row, rule in sorted(places, key=lambda place: place[1:])]


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_what_is_marked_is_found_live_and_nothing_else(script, tmp_path):
    report, done = guarded(script, tmp_path)
    _, status = head(script)
    found = told(report, script)
    assert not set(found) & set(marks(script, "missed")), "a known gap is found: its mark must go"
    assert found == marks(script, "expect")
    assert done.status == status, done.stderr


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_the_linter_suspects_nothing_that_the_guard_does_not_confirm(script):
    found = {f"{finding.place.row}: {finding.code}" for finding in findings_of(script.read_text("utf-8"), script.name)}
    assert found <= {*marks(script, "expect"), *marks(script, "suspect")}


@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.stem)
def test_header_and_marks_agree(script):
    named, _ = head(script)
    text = script.read_text(encoding="utf-8")
    kinds = {"expect", "suspect"} if named else {"expect"}
    marked = {rule.strip() for word, rules in MARK.findall(text) if word in kinds for rule in rules.split(",")}
    assert set(named) - {"nothing that is found"} == marked


def test_half_of_the_scripts_are_right():
    right = sum(not head(script)[0] for script in SCRIPTS)
    assert len(SCRIPTS) >= 40
    assert abs(2 * right - len(SCRIPTS)) <= len(SCRIPTS) / 5
