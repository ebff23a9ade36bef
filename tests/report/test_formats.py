"""Each report is held against what its reader publishes: a schema, or the fields that the reader's pages require."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest
import xmlschema
from jsonschema import Draft4Validator

from amplint.findings import Edit, Finding, Fix, Place, Severity, Witness
from amplint.report import FORMATS, Report, render

SCHEMAS = Path(__file__).parent / "schemas"
TEXT = """\
for batch in loader:
    scaler.scale(loss(model(batch))).backward()
    clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
"""
CLIP = Finding(
    filename="src/träin me.py",
    place=Place(3, 5, 3, 45),
    code="clip-before-unscale",
    severity=Severity.ERROR,
    message='gradients are clipped, 100% of them: \x1b[31m<wrong> & "quoted"\nsecond line',
    advice="call scaler.unscale_(optimizer) first",
    witness=(Witness(Place(2, 5, 2, 48), "scaled here"), Witness(Place(1, 1, 1, 4), "made here", "other.py")),
    fix=Fix("safe", "unscale first", (Edit(Place(3, 5, 3, 5), "scaler.unscale_(optimizer)\n    "),)),
)
WARNING = replace(CLIP, code="dropped-tail-window", severity=Severity.WARNING, fix=None, witness=())
IN_CELL = replace(CLIP, filename="/abs/notes.ipynb", place=replace(CLIP.place, cell=4), witness=(), fix=None)
ALL = (CLIP, WARNING, IN_CELL)
TEXTS = {("src/träin me.py", None): TEXT, ("/abs/notes.ipynb", 4): TEXT}


def told(name: str, findings: tuple[Finding, ...] = ALL, strict: bool = False) -> str:
    return render(name, Report(findings, TEXTS, strict=strict, version="0.1.0"))


def invalid_sarif(log: object) -> list[str]:
    schema = json.loads((SCHEMAS / "sarif-schema-2.1.0.json").read_text())
    return [error.message for error in Draft4Validator(schema).iter_errors(log)]


@pytest.mark.parametrize("findings", [(), ALL], ids=["nothing", "findings"])
def test_sarif_is_valid_by_its_schema(findings):
    assert invalid_sarif(json.loads(told("sarif", findings))) == []


def test_the_sarif_schema_can_refuse():
    log = json.loads(told("sarif"))
    log["runs"][0]["results"][0]["level"] = "fatal"
    assert invalid_sarif(log) != []


def test_sarif_holds_path_fix_page_and_fingerprint_of_each_result():
    (run,) = json.loads(told("sarif"))["runs"]
    first = run["results"][0]
    assert run["tool"]["driver"]["rules"][first["ruleIndex"]]["id"] == first["ruleId"] == "clip-before-unscale"
    assert "## " in run["tool"]["driver"]["rules"][first["ruleIndex"]]["help"]["markdown"]
    physical = first["locations"][0]["physicalLocation"]
    assert physical["artifactLocation"] == {"uri": "src/tr%C3%A4in%20me.py", "uriBaseId": "SRCROOT"}
    assert physical["region"] == {"startLine": 3, "startColumn": 5, "endLine": 3, "endColumn": 45}
    steps = first["codeFlows"][0]["threadFlows"][0]["locations"]
    assert [step["location"]["message"]["text"] for step in steps] == ["scaled here", "made here", CLIP.message]
    assert steps[1]["location"]["physicalLocation"]["artifactLocation"]["uri"] == "other.py"
    (change,) = first["fixes"][0]["artifactChanges"]
    assert change["replacements"][0]["insertedContent"]["text"] == "scaler.unscale_(optimizer)\n    "
    assert run["results"][2]["locations"][0]["logicalLocations"][0]["name"] == "cell 4"
    assert len({result["partialFingerprints"]["amplint/v1"] for result in run["results"]}) == 3


@pytest.mark.parametrize("findings", [(), ALL], ids=["nothing", "findings"])
def test_junit_is_valid_by_the_schema_of_jenkins(findings):
    xmlschema.XMLSchema(SCHEMAS / "junit-10.xsd").validate(told("junit", findings))


def test_the_junit_schema_can_refuse():
    broken = told("junit").replace(' failures="1"', "", 1).replace("<testcase name", "<testcase nome", 1)
    assert not xmlschema.XMLSchema(SCHEMAS / "junit-10.xsd").is_valid(broken)


def test_junit_fails_errors_and_skips_warnings_unless_they_fail_too():
    assert told("junit").count("<failure ") == 2
    assert told("junit").count("<skipped ") == 1
    assert told("junit", strict=True).count("<failure ") == 3


def test_gitlab_has_the_fields_that_it_requires():
    issues = json.loads(told("gitlab"))
    assert len(issues) == 3
    for issue in issues:
        assert issue["description"]
        assert issue["check_name"]
        assert issue["severity"] in {"info", "minor", "major", "critical", "blocker"}
        assert not issue["location"]["path"].startswith("./")
        assert issue["location"]["lines"]["begin"] >= 1
    assert len({issue["fingerprint"] for issue in issues}) == 3


def test_gitlab_paths_start_at_the_project(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("CI_PROJECT_DIR", str(tmp_path.parent))
    (issue,) = json.loads(told("gitlab", (WARNING,)))
    assert issue["location"]["path"] == f"{tmp_path.name}/src/träin me.py"


def test_github_commands_escape_what_would_end_them():
    first, second, third = told("github").splitlines()
    assert first.startswith(
        "::error title=amplint (clip-before-unscale),file=src/träin me.py,line=3,col=5,endLine=3,endColumn=45::"
    )
    assert "100%25 of them" in first
    assert "%0Asecond line" in first
    assert second.startswith("::warning ")
    assert re.match(r"::error title=amplint \(clip-before-unscale\),file=/abs/notes.ipynb::.*cell 4:3:5", third)


def test_json_lines_hold_what_json_holds():
    assert [json.loads(line) for line in told("jsonl").splitlines()] == json.loads(told("json"))


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_tells_of_every_rule(name):
    for finding in ALL:
        assert finding.code in told(name)
