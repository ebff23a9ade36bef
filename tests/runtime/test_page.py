"""The page and the scalars that are made from the guard's JSON."""

from __future__ import annotations

import importlib.util
import re
import sys
from html.parser import HTMLParser
from math import inf, nan
from pathlib import Path

import pytest

from runtime_guard.report.charts import Axis, charts
from runtime_guard.report.curves import curves_of
from runtime_guard.report.html import page
from runtime_guard.report.markup import Markup, element, number
from runtime_guard.report.timeline import timeline
from tests.runtime.forked import run_module

SCRIPT = Path(__file__).parent / "scripts" / "51_clip_before_unscale.py"
ROWS = SCRIPT.read_text(encoding="utf-8").splitlines()
CLIP = next(row for row, text in enumerate(ROWS, 1) if "clip_grad_norm_" in text)
BACKWARD = next(row for row, text in enumerate(ROWS, 1) if "backward()" in text)


def site(row):
    return {"file": str(SCRIPT), "line": row, "function": "train"}


def event(name, row, micro_step, **more):
    return {"event": name, **site(row), "micro_step": micro_step, **more}


def window(micro_steps=2):
    events = []
    for micro_step in range(1, micro_steps + 1):
        events += [event("scale", BACKWARD, micro_step), event("backward", BACKWARD, micro_step, detail="weight 0.25")]
    last = [("clip", "clip-before-unscale"), ("scaler_step", None), ("update", None), ("zero_grad", None)]
    events += [event(name, CLIP, micro_steps, violation=rule) for name, rule in last]
    return {"optimizer": "SGD", "window": 2, "events": events}


def report():
    violation = {
        "code": "clip-before-unscale",
        "severity": "error",
        "message": "gradients are clipped while they carry the scale; call `scaler.unscale_(optimizer)` & look",
        "site": site(CLIP),
        "previous": {"event": "gradients get the loss scale here", **site(BACKWARD)},
        "window": 1,
        "count": 3,
        "rank": None,
    }
    return {
        "schema": 1,
        "torch": "2.13.0",
        "world_size": 1,
        "violations": [violation],
        "windows": {"count": 3, "micro_steps": {"4": 3}, "effective_lr_multiplier": 1.0},
        "optimizers": [],
        "scalers": [{"name": "GradScaler", "scale": 1024.0, "skipped": 0}],
        "schedulers": [],
        "not_covered": ["a loss inside a compiled region"],
        "confirmed": ["3 windows of 4 micro-steps, weight 1.000"],
        "timeline": [window()],
        "curves": {"loss_scale": {"GradScaler": [[1, 1024.0], [2, 1024.0], [3, 512.0]]}},
    }


class Reader(HTMLParser):
    """Checks that elements are closed in order, and keeps text and attributes."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.open, self.text, self.attributes = [], [], []

    def handle_starttag(self, tag, attrs):
        self.attributes += [(tag, *pair) for pair in attrs]
        self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.attributes += [(tag, *pair) for pair in attrs]

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def read(markup):
    reader = Reader()
    reader.feed(markup)
    reader.close()
    assert reader.open == []
    return reader


def told(markup):
    return " ".join(" ".join(read(markup).text).split())


def test_the_page_shows_both_places_with_their_lines():
    text = told(page(report()))
    assert f"scripts/{SCRIPT.name}:{CLIP}" in text
    assert f"scripts/{SCRIPT.name}:{BACKWARD}" in text
    assert " ".join(ROWS[CLIP - 1].split()) in text
    assert " ".join(ROWS[BACKWARD - 1].split()) in text
    assert "3 times, first in window 1" in text


def test_the_page_says_what_was_confirmed_and_what_could_not_be_followed():
    text = told(page(report()))
    assert "3 windows of 4 micro-steps, weight 1.000" in text
    assert "a loss inside a compiled region" in text


def test_the_page_needs_nothing_from_anywhere():
    markup = page(report())
    assert not [found for found in read(markup).attributes if found[1] in {"src", "href", "onload", "xlink:href"}]
    assert not re.search(r"https?:|url\(|@import|<script", markup)


def test_what_comes_from_the_run_is_escaped():
    bad = report()
    bad["violations"][0]["message"] = "<script>alert(1)</script>"
    bad["not_covered"] = ["a < b & c"]
    markup = page(bad)
    assert "<script" not in markup
    assert "a &lt; b &amp; c" in markup


@pytest.mark.parametrize(
    ("severities", "verdict"),
    [([], "No mistake seen"), (["error"], "1 mistake"), (["error", "error", "warning"], "2 mistakes and 1 warning")],
)
def test_the_headline_counts(severities, verdict):
    changed = report()
    changed["violations"] = [{**changed["violations"][0], "severity": severity} for severity in severities]
    assert re.search(r"<h1[^>]*>([^<]*)", page(changed))[1] == verdict


def test_an_empty_report_is_still_a_page():
    assert "Nothing was trained" in told(page({}))


def test_a_line_that_is_not_what_was_run_any_more_is_shown_as_it_was():
    changed = report()
    changed["violations"][0]["site"]["source"] = "clip(everything)"
    text = told(page(changed))
    assert f"{CLIP} clip(everything)" in text
    assert "scaler.step(optimizer)" not in text.split("clip(everything)")[1].split("times, first")[0]


def test_a_violation_without_an_earlier_place_has_one():
    changed = report()
    changed["violations"][0]["previous"] = None
    assert page(changed).count('class="place"') == 1


def test_the_timeline_says_what_the_gradients_hold():
    text = told(timeline(window()))
    assert "gradients \u00d7 loss scale" in text  # from the first backward to the step
    assert "micro-step 1" in text
    assert text.count("\u25b2") == 1  # the clip


def test_a_long_window_leaves_out_its_middle_and_says_how_much():
    text = told(timeline(window(micro_steps=64)))
    assert "61 more" in text
    assert text.count("micro-step") == 3


def test_a_window_without_events_draws_nothing():
    assert timeline({"events": []}) == ""


def test_curves_are_read_in_both_forms():
    nested = {"curves": {"loss_scale": {"a/b": [[1, 2.0]]}}}
    flat = {"curves": {"a/b/loss_scale": [[1, 2.0]], "x/gradient_norm": []}}
    assert curves_of(nested) == curves_of(flat) == {"loss_scale": {"a/b": [(1.0, 2.0)]}}
    assert curves_of({}) == {}


def test_a_value_that_is_not_finite_breaks_the_line_and_is_marked():
    drawn = charts({"gradient_norm": {"SGD": [(1, 1.0), (2, inf), (3, nan), (4, 2.0)]}})
    assert drawn.count('class="broken"') == 2
    assert len(re.findall(r"M[\d.]+ [\d.]+", drawn)) == 2


@pytest.mark.parametrize("values", [[0.0], [5.0, 5.0], [inf], [1e-12, 1e12], [-3.0, 3.0], [65536.0, 0.0, 0.5]])
@pytest.mark.parametrize("name", ["loss_scale", "gradient_norm", "token_weight_spread", "something_else"])
def test_any_values_can_be_drawn(name, values):
    read(charts({name: {"SGD": list(enumerate(values))}}))


def test_several_series_get_a_legend():
    text = told(charts({"gradient_norm": {"SGD": [(1, 1.0), (2, 3.0)], "AdamW": [(1, 2.0), (2, 2.0)]}}))
    assert "SGD AdamW" in text


def test_ticks_are_round():
    assert Axis(0.0, 1.0, 0, 1).ticks() == [0.0, 0.25, 0.5, 0.75, 1.0]
    assert Axis(3.0, 900.0, 0, 1).ticks() == [250.0, 500.0, 750.0]
    assert Axis(256.0, 65536.0, 0, 1, logarithmic=True).ticks() == [256.0, 1024.0, 4096.0, 16384.0, 65536.0]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (65536.0, "65,536"),
        (1.5e-05, "1.50e-05"),
        (0.25, "0.25"),
        (1e9, "1.00e+09"),
        (inf, "\u221e"),
        (nan, "NaN"),
    ],
)
def test_numbers_are_short(value, text):
    assert number(value) == text


def test_text_is_escaped_and_markup_is_not():
    assert (
        element("p", "a<b", element("b", "c"), class_="x", title='"')
        == '<p class="x" title="&quot;">a&lt;b<b>c</b></p>'
    )
    assert isinstance(element("br"), Markup)


@pytest.fixture
def ran(tmp_path):
    """The page of a real run, and what was said."""
    script = SCRIPT.with_name("79_three_at_once.py")
    options = ["--mode", "record", "--html", "page.html", "--tensorboard", "logs"]
    done = run_module("runtime_guard", [*options, str(script)], tmp_path)
    return (tmp_path / "page.html").read_text(encoding="utf-8"), done


@pytest.mark.skipif(sys.platform == "win32", reason="the children are forked")
def test_a_real_run_has_a_page_with_violations_timeline_and_curves(ran):
    markup, done = ran
    text = told(markup)
    assert done.status == 0, done.stderr
    assert "3 mistakes" in text
    assert "scripts/79_three_at_once.py" in text
    assert "3 windows of 4 micro-steps, weight 4.000" in text  # what was confirmed
    assert "gradients \u00d7 loss scale" in text
    for rule in ("missing-loss-division", "clip-before-unscale", "scheduler-per-micro-step"):
        assert rule in text
    for title in ("Loss scale", "Effective learning rate", "Weight of a window", "Gradient norm", "Skipped steps"):
        assert title in text


@pytest.mark.skipif(sys.platform == "win32", reason="the children are forked")
@pytest.mark.skipif(importlib.util.find_spec("tensorboard") is not None, reason="tensorboard is installed")
def test_a_run_goes_on_without_tensorboard_and_says_what_to_install(ran):
    _, done = ran
    assert done.stderr.count("TensorBoard scalars need tensorboard: `pip install tensorboard`") == 1


WRITE = """
import json, sys
from runtime_guard.report.tensorboard import write
print(write(json.load(open(sys.argv[1])), sys.argv[2]))
"""


def scalars(tmp_path, environment=None):
    (tmp_path / "report.json").write_text('{"curves": {"loss_scale": {"GradScaler": [[1, 2.0], [2, 4.0]]}}}')
    (tmp_path / "write_scalars.py").write_text(WRITE)
    return run_module("write_scalars", ["report.json", "logs"], tmp_path, environment)


@pytest.mark.skipif(sys.platform == "win32", reason="the children are forked")
@pytest.mark.skipif(importlib.util.find_spec("tensorboard") is None, reason="tensorboard is not installed")
def test_scalars_are_written_where_tensorboard_is_installed(tmp_path):
    done = scalars(tmp_path)
    assert done.stdout == "2\n", done.stderr
    assert list((tmp_path / "logs").iterdir())


@pytest.mark.skipif(sys.platform == "win32", reason="the children are forked")
@pytest.mark.skipif(importlib.util.find_spec("tensorboard") is not None, reason="tensorboard is installed")
def test_without_tensorboard_one_line_says_what_to_install(tmp_path):
    done = scalars(tmp_path)
    assert done.stderr.splitlines()[-1].endswith("TensorBoard scalars need tensorboard: `pip install tensorboard`")
