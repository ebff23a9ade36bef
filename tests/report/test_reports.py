from __future__ import annotations

import json
import os
from dataclasses import replace

import pytest

from amplint.findings import Edit, Finding, Fix, Place, Severity, Witness
from amplint.report import FORMATS, Report, render
from amplint.report.summary import summary

TEXT = """\
def train(loader):
    for batch in loader:
        loss = model(batch)
        scaler.scale(loss).backward()
        clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
"""
CLIP = Finding(
    filename="train.py",
    place=Place(5, 9, 5, 49),
    code="clip-before-unscale",
    severity=Severity.ERROR,
    message="gradients are clipped while they still carry the loss scale",
    advice="call scaler.unscale_(optimizer) first",
    witness=(Witness(Place(4, 9, 4, 38), "gradients get the loss scale here"),),
)


def told(finding: Finding, text: str = TEXT, colour: bool = False) -> str:
    return render("full", Report((finding,), {(finding.filename, finding.place.cell): text}, colour))


def test_full_shows_the_finding_what_led_to_it_and_what_to_do():
    assert (
        told(CLIP)
        == """\
error[clip-before-unscale]: gradients are clipped while they still carry the loss scale
 --> train.py:5:9
  |
3 |         loss = model(batch)
4 |         scaler.scale(loss).backward()
  |         ----------------------------- gradients get the loss scale here
5 |         clip_grad_norm_(model.parameters(), 1.0)
  |         ^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^^
6 |         scaler.step(optimizer)
  |
  = help: call scaler.unscale_(optimizer) first
  = page: amplint rule clip-before-unscale

"""
    )


def test_lines_between_two_marks_are_left_out_where_they_are_many():
    text = "loss.backward()\n" + "x = 1\n" * 7 + "clip()\n"
    finding = replace(CLIP, place=Place(9, 1, 9, 7), witness=(Witness(Place(1, 1, 1, 16), "here"),), advice="")
    assert told(finding, text).splitlines()[3:] == [
        "1 | loss.backward()",
        "  | --------------- here",
        "...",
        "7 | x = 1",
        "8 | x = 1",
        "9 | clip()",
        "  | ^^^^^^",
        "  = page: amplint rule clip-before-unscale",
        "",
    ]


def test_an_event_far_away_has_a_snippet_of_its_own():
    text = "scaler = GradScaler()\n" + "x = 1\n" * 98 + "clip()\n"
    finding = replace(CLIP, place=Place(100, 1, 100, 7), witness=(Witness(Place(1, 10, 1, 22), "made here"),))
    assert told(finding, text).splitlines()[1:] == [
        "   --> train.py:100:1",
        "    |",
        " 98 | x = 1",
        " 99 | x = 1",
        "100 | clip()",
        "    | ^^^^^^",
        "   ::: train.py:1:10",
        "    |",
        "  1 | scaler = GradScaler()",
        "    |          ------------ made here",
        "    |",
        "    = help: call scaler.unscale_(optimizer) first",
        "    = page: amplint rule clip-before-unscale",
        "",
    ]


def test_an_event_in_a_file_that_was_not_read_is_told_by_its_place():
    finding = replace(CLIP, witness=(Witness(Place(7, 5, 7, 9), "it happens here", "other.py"),))
    shown = render("full", Report((finding,), {})).splitlines()
    assert shown[2] == " ::: other.py:7:5: it happens here"


def test_an_event_in_another_cell_or_file_is_shown_where_it_stands():
    place = replace(CLIP.place, cell=3, row=1, column=1, end_row=1, end_column=7)
    event = Witness(Place(2, 1, 2, 16, cell=2), "scaled here")
    other = Witness(Place(1, 1, 1, 4), "made here", "other.py")
    texts = {("train.py", 2): "x = 1\nloss.backward()\n", ("train.py", 3): "clip()\n", ("other.py", None): "new()\n"}
    finding = replace(CLIP, place=place, witness=(other, event))
    assert render("full", Report((finding,), texts)).splitlines()[1:-3] == [
        " --> train.py:cell 3:1:1",
        "  |",
        "1 | clip()",
        "  | ^^^^^^",
        " ::: train.py:cell 2:2:1",
        "  |",
        "2 | loss.backward()",
        "  | --------------- scaled here",
        " ::: other.py:1:1",
        "  |",
        "1 | new()",
        "  | --- made here",
        "  |",
    ]
    (told,) = json.loads(render("json", Report((finding,), texts)))
    assert told["cell"] == 3
    assert told["witness"][0] == {"row": 1, "column": 1, "what": "made here", "filename": os.path.abspath("other.py")}
    assert told["witness"][1] == {"row": 2, "column": 1, "what": "scaled here", "cell": 2}


def test_every_line_of_a_place_is_marked_unless_they_are_many():
    text = "f(\n    a,\n    b,\n)\n"
    marks = [
        line for line in told(replace(CLIP, place=Place(1, 1, 4, 2), witness=()), text).splitlines() if "^" in line
    ]
    assert marks == ["  | ^^", "  |     ^^", "  |     ^^", "  | ^"]
    tall = "f(\n" + "    a,\n" * 9 + ")\n"
    assert told(replace(CLIP, place=Place(1, 1, 11, 2), witness=()), tall).count("^") == 2


def test_marks_stand_under_tabs_and_wide_characters():
    text = "\t'世界'; clip()  # \x1b[31m\n"
    lines = told(replace(CLIP, place=Place(1, 8, 1, 14), witness=()), text).splitlines()
    assert lines[3:5] == ["1 |     '世界'; clip()  # ␛[31m", "  |             ^^^^^^"]


def test_a_long_line_is_cut_around_the_mark():
    text = f"{'a' * 1000}clip(){'b' * 1000}\n"
    line, mark = told(replace(CLIP, place=Place(1, 1001, 1, 1007), witness=()), text).splitlines()[3:5]
    assert len(line) < 160
    assert line[mark.index("^") : mark.rindex("^") + 1] == "clip()"


def test_a_place_outside_the_text_is_still_told():
    finding = replace(CLIP, place=Place(1, 1, 1, 1), witness=(Witness(Place(99, 1, 99, 2), "gone"),))
    assert told(finding, "").startswith("error[clip-before-unscale]")
    assert "train.py:1:1" in render("full", Report((finding,)))


def test_colours_only_where_they_are_wanted():
    assert "\x1b[1;31merror[clip-before-unscale]\x1b[0m" in told(CLIP, colour=True)
    assert "\x1b" not in told(CLIP)
    assert "\x1b[1;31merror" in render("concise", Report((CLIP,), colour=True))


def test_concise_is_a_line_for_each_finding():
    line = "train.py:5:9: error[clip-before-unscale] gradients are clipped while they still carry the loss scale\n"
    assert render("concise", Report((CLIP, CLIP))) == line * 2
    in_cell = replace(CLIP, place=replace(CLIP.place, cell=3))
    assert render("concise", Report((in_cell,))).startswith("train.py:cell 3:5:9: ")


def test_json_has_the_shape_of_ruff_and_the_witness():
    fix = Fix("safe", "unscale first", (Edit(Place(5, 1, 5, 1), "scaler.unscale_(optimizer)\n"),))
    (finding,) = json.loads(render("json", Report((replace(CLIP, fix=fix),))))
    assert finding == {
        "code": "clip-before-unscale",
        "severity": "error",
        "message": "gradients are clipped while they still carry the loss scale; call scaler.unscale_(optimizer) first",
        "filename": os.path.abspath("train.py"),
        "cell": None,
        "location": {"row": 5, "column": 9},
        "end_location": {"row": 5, "column": 49},
        "fix": {
            "applicability": "safe",
            "message": "unscale first",
            "edits": [
                {
                    "content": "scaler.unscale_(optimizer)\n",
                    "location": {"row": 5, "column": 1},
                    "end_location": {"row": 5, "column": 1},
                }
            ],
        },
        "url": None,
        "witness": [{"row": 4, "column": 9, "what": "gradients get the loss scale here"}],
    }
    (plain,) = json.loads(render("json", Report((replace(CLIP, advice=""),))))
    assert plain["message"] == CLIP.message
    assert plain["fix"] is None


@pytest.mark.parametrize("name", FORMATS)
def test_every_format_can_tell_of_nothing(name):
    told = render(name, Report(()))
    if name in ("json", "gitlab"):
        assert told == "[]\n"
    elif name in ("sarif", "junit", "github-summary"):
        assert "amplint" in told
    else:
        assert told == ""


def test_the_summary_counts_kinds_and_files():
    warning = replace(CLIP, severity=Severity.WARNING, filename="other.py")
    assert summary([]) == "All checks passed!"
    assert summary([CLIP]) == "Found 1 error in 1 file."
    assert summary([warning, warning]) == "Found 2 warnings in 1 file."
    assert summary([CLIP, CLIP, CLIP, warning]) == "Found 3 errors and 1 warning in 2 files."
