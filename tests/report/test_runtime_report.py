"""What a guard's report makes of a finding, case by case."""

from __future__ import annotations

import hashlib
import json
from dataclasses import replace

import pytest

from amplint.findings import Finding, Place, Severity, Witness
from amplint.report import FORMATS, Report, render
from amplint.report.summary import summary
from amplint.run import Outcome
from amplint.runtime_report import held_against, read, run_of
from amplint.settings import SettingsError

CLIP = Finding(
    "train.py",
    Place(5, 9, 5, 49),
    "clip-before-unscale",
    Severity.ERROR,
    "clipped scaled",
    witness=(Witness(Place(4, 9, 4, 38), "scaled here"),),
)


@pytest.fixture
def script(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "train.py").write_text("x = 1\n" * 9)
    return tmp_path / "train.py"


def document(script, rows=(4, 5), windows=3, violations=(), **more):
    digest = hashlib.sha256(script.read_bytes()).hexdigest()
    files = {str(script): {"sha256": digest, "rows": list(rows)}}
    return {"schema": 1, "windows": {"count": windows}, "violations": list(violations), "files": files, **more}


def violation(script, code="clip-before-unscale", line=5, witness=(), severity="error"):
    site = {"file": str(script), "line": line}
    events = [{"file": str(script), "line": row, "event": "scaled here"} for row in witness]
    return {"code": code, "severity": severity, "message": "m", "site": site, "witness": events, "count": 2}


def status(script, finding=CLIP, **parts):
    return [
        (one.live.status, one.live.what)
        for one in held_against(run_of(document(script, **parts)), [finding] if finding else [], ["train.py"])
    ]


def test_a_run_through_the_line_without_the_mistake_refutes_it(script):
    assert status(script) == [("refuted", "3 windows went through this line without this mistake")]
    assert status(script, rows=(4,))[0][0] == "refuted", "a condition is no event; what led to it was reached"


@pytest.mark.parametrize(
    ("finding", "parts", "why"),
    [
        (CLIP, {"rows": (1,)}, "the run did not come to this line"),
        (CLIP, {"windows": 1}, "the run ended before its second window was complete"),
        (CLIP, {"rules": []}, "a run does not judge this rule"),
        (replace(CLIP, code="deprecated-cuda-amp"), {}, "a run does not judge this rule"),
        (replace(CLIP, conditional=True), {}, "the run may have had other settings than those that it needs"),
        (replace(CLIP, place=replace(CLIP.place, cell=1)), {}, "the run did not come to this line"),
        (replace(CLIP, filename="other.py"), {}, "the run did not come to this file"),
    ],
)
def test_a_run_says_nothing_of_what_it_cannot_judge(script, finding, parts, why):
    assert status(script, finding, **parts) == [("not reached", why)]


def test_a_violation_confirms_by_any_place_that_both_name(script):
    for one in (violation(script), violation(script, line=7, witness=[4]), violation(script, line=4)):
        assert status(script, violations=[one]) == [("confirmed", "m (2 times)")]


def test_a_mistake_that_another_one_hides_is_not_refuted(script):
    hidden = replace(CLIP, code="clip-per-micro-step", place=Place(6, 1, 6, 2), witness=())
    from amplint.catalogue import RULES

    hiding = next((name for name, rule in RULES.items() if rule.hides), None)
    assert hiding is not None
    hidden = replace(hidden, code=RULES[hiding].hides[0])
    found = status(script, hidden, rows=(5, 6), violations=[violation(script, hiding)])
    assert ("not reached", "another mistake of the run hides this one") in found


def test_what_only_the_run_has_becomes_a_finding_at_its_line(script):
    run = run_of(document(script, violations=[violation(script, line=7, witness=[2], severity="warning")]))
    (one,) = held_against(run, [], ["train.py"])
    assert (one.filename, one.place.row, one.severity, one.live.status) == (
        "train.py",
        7,
        Severity.WARNING,
        "live only",
    )
    assert [(event.place.row, event.filename) for event in one.witness] == [(2, None)]
    assert held_against(run, [], ["elsewhere.py"]) == ()


def test_what_is_refuted_is_told_and_fails_nothing(script):
    (one,) = held_against(run_of(document(script)), [CLIP], ["train.py"])
    assert Outcome((one,), {}).exit_code(strict=True) == 0
    assert Outcome((CLIP,), {}).exit_code() == 1
    told = {name: render(name, Report((one,), {})) for name in FORMATS}
    assert "= run: refuted: 3 windows" in told["full"]
    assert "[run: refuted]" in told["concise"]
    assert json.loads(told["json"])[0]["live"]["status"] == "refuted"
    assert told["github"].startswith("::notice ")
    assert json.loads(told["gitlab"])[0]["severity"] == "info"
    assert json.loads(told["sarif"])["runs"][0]["results"][0]["level"] == "note"
    assert "<failure" not in told["junit"]
    assert summary([one]).endswith("The run: 1 refuted.")


@pytest.mark.parametrize(
    ("content", "said"),
    [(None, "cannot be read"), ("{", "is not JSON"), ("[]", "is not a report"), ('{"schema": 1}', "is not a report")],
)
def test_a_report_that_is_none_is_refused_in_one_line(tmp_path, content, said):
    path = tmp_path / "live.json"
    if content is not None:
        path.write_text(content)
    with pytest.raises(SettingsError, match=said):
        read(path)
