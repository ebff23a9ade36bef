from __future__ import annotations

import pytest


@pytest.fixture
def told(amplint, write):
    """Row and rule of each finding in a text."""

    def run(text: str, *arguments: str) -> list[str]:
        write({"train.py": text})
        out = amplint("--output-format", "concise", "-q", *arguments).out
        return [f"{line.split(':')[1]} {line.partition('[')[2].partition(']')[0]}" for line in out.splitlines()]

    return run


@pytest.mark.parametrize(
    "text",
    [
        "clip_grad_norm_(autocast)  # amplint: ignore[clip-before-unscale]\n",
        "clip_grad_norm_(autocast)  # amplint: ignore\n",
        "clip_grad_norm_(autocast)  #amplint:ignore [ clip-before-unscale ]  -- on purpose\n",
        "clip_grad_norm_(autocast)  # amplint: ignore -- on purpose\n",
        "clip_grad_norm_(autocast)  # noqa: E501  # amplint: ignore[clip-before-unscale]  # and more\n",
        "# amplint: ignore-file[clip-before-unscale]\nclip_grad_norm_(autocast)\n",
        "clip_grad_norm_(autocast)\n# amplint: ignore-file\n",
        "f(  # amplint: ignore[clip-before-unscale]\n    clip_grad_norm_(autocast),\n)\n",
        "f(\n    clip_grad_norm_(autocast),\n)  # amplint: ignore[clip-before-unscale]\n",
        "f(\n    clip_grad_norm_(autocast),  # amplint: ignore[clip-before-unscale]\n)\n",
        "with f(\n    clip_grad_norm_(autocast),\n):  # amplint: ignore[clip-before-unscale]\n    pass\n",
        'x = """\nclip_grad_norm_(autocast)\n"""  # amplint: ignore[clip-before-unscale]\n',
        "clip_grad_norm_(autocast)  # amplint: ignore[clip-before-unscale]\r\n",
        "clip_grad_norm_(autocast)  # amplint: ignore[clipping]\n",
        "clip_grad_norm_(autocast)  # pragma: no cover; amplint: ignore[clip-before-unscale]\n",
        "clip_grad_norm_(autocast)  # amplint: ignore[clip-before-unscale]; pragma: no cover\n",
        "clip_grad_norm_(autocast)  # amplint: ignore; pragma: no cover\n",
    ],
)
def test_a_comment_hides_the_finding_of_its_line_statement_or_file(told, text):
    assert told(text) == []


@pytest.mark.parametrize(
    "text",
    [
        "# amplint: ignore[clip-before-unscale]\nclip_grad_norm_(autocast)\n",
        "with f():  # amplint: ignore[clip-before-unscale]\n    clip_grad_norm_(autocast)\n",
        "clip_grad_norm_(autocast)\nf(  # amplint: ignore[clip-before-unscale]\n)\n",
        "f(\n    clip_grad_norm_(autocast),\n    x,  # amplint: ignore[clip-before-unscale]\n)\n",
    ],
)
def test_a_comment_elsewhere_hides_nothing_and_is_told_so(told, text):
    assert sorted(line.split()[1] for line in told(text)) == ["clip-before-unscale", "unused-ignore"]


def test_only_the_rules_that_are_named_are_hidden(told):
    text = "clip_grad_norm_(autocast); unscale_(o)  # amplint: ignore[{}]\n"
    assert told(text.format("repeated-unscale")) == ["1 clip-before-unscale"]
    assert told(text.format("repeated-unscale, clip-before-unscale")) == []
    assert told(text.format("repeated-unscale,clip-before-unscale,missing-zero-grad")) == ["1 unused-ignore"]


def test_a_text_that_looks_like_a_comment_is_none(told):
    assert told('clip_grad_norm_(autocast, "# amplint: ignore")\n') == ["1 clip-before-unscale"]
    assert told("clip_grad_norm_(autocast)  # see `# amplint: ignore` in the manual\n") == ["1 clip-before-unscale"]


@pytest.mark.parametrize(
    "comment", ["ignore", "ignore[clip-before-unscale]", "ignore-file", "ignore-file[missing-zero-grad]"]
)
def test_an_ignore_that_hides_nothing_is_a_finding_even_where_nobody_trains(told, comment):
    assert told(f"x = 1  # amplint: {comment}\n") == ["1 unused-ignore"]
    assert told(f"loss.backward()  # amplint: {comment}\n") == ["1 unused-ignore"]


def test_the_finding_points_at_the_name_that_is_too_much(amplint, write):
    write({"train.py": "clip_grad_norm_(autocast)  # amplint: ignore[clip-before-unscale, missing-zero-grad]\n"})
    assert amplint("--output-format", "concise").out.startswith("train.py:1:67: warning[unused-ignore]")


def test_rules_that_were_not_asked_for_are_not_called_unused(told):
    text = "clip_grad_norm_(autocast)\nx = 1  # amplint: ignore[missing-zero-grad]\n"
    assert told(text) == ["1 clip-before-unscale", "2 unused-ignore"]
    assert told(text, "--ignore", "missing-zero-grad") == ["1 clip-before-unscale"]
    assert told(text, "--select", "clip-before-unscale,unused-ignore") == ["1 clip-before-unscale"]


def test_an_ignore_of_a_rule_that_was_not_asked_for_still_counts_as_used(told):
    text = "clip_grad_norm_(autocast)  # amplint: ignore\n"
    assert told(text, "--ignore", "clip-before-unscale") == []


@pytest.mark.usefixtures("two_more_rules")
def test_rules_of_the_live_half_are_not_called_unused(told):
    assert told("loss.backward()  # amplint: ignore[live-rule]\n") == []
    assert told("loss.backward()  # amplint: ignore[missing-zero-grad]\n") == ["1 unused-ignore"]


def test_an_unknown_rule_is_a_finding_with_a_suggestion(amplint, write):
    write({"train.py": "loss.backward()  # amplint: ignore[clip-before-unscal]\n"})
    ended = amplint()
    assert ended.code == 0
    assert "warning[unknown-ignore]: no rule is called `clip-before-unscal`" in ended.out
    assert "did you mean `clip-before-unscale`?" in ended.out


def test_noqa_with_the_name_of_a_rule_hides_nothing_and_is_told_so(amplint, told, write):
    write({"train.py": "loss.backward()\nclip_grad_norm_(p)  # noqa: E501, clip-before-unscale\n"})
    out = amplint().out
    assert "error[clip-before-unscale]" in out
    assert "write `# amplint: ignore[clip-before-unscale]`" in out
    assert told("x = 1  # NOQA : missing-step\n") == ["1 unknown-ignore"]
    assert told("clip_grad_norm_(autocast)  # noqa\nx = 1  # noqa: E501 some-thing\n") == ["1 clip-before-unscale"]


@pytest.mark.parametrize("comment", ["ignore[]", "ignore clip-before-unscale", "ignore[clip", "ingore", "ignores", ""])
def test_a_comment_that_is_not_understood_is_a_finding_and_hides_nothing(told, comment):
    told_here = told(f"clip_grad_norm_(autocast)  # amplint: {comment}\n")
    assert told_here == ["1 clip-before-unscale", "1 unknown-ignore"]


def test_findings_about_comments_can_be_ignored_by_name(told):
    assert told("x = 1  # amplint: ignore[missing-zero-grad, unused-ignore]\n") == []
    assert told("# amplint: ignore-file[unknown-ignore]\nx = 1  # amplint: ignore[no-such-rule]\n") == []
    assert told("x = 1  # amplint: ignore[unused-ignore]\n") == ["1 unused-ignore"]


def test_nothing_is_called_unused_in_a_file_that_cannot_be_parsed(told):
    assert told("autocast\nbroken syntax\nx = 1  # amplint: ignore[missing-zero-grad]\n") == ["2 syntax-error"]
    assert told("# amplint: ignore-file[syntax-error]\nbroken syntax autocast\n") == []


def test_a_family_that_hides_nothing_is_told_as_a_rule_is(told):
    assert told("clip_grad_norm_(autocast)  # amplint: ignore[clipping, scaler]\n") == ["1 unused-ignore"]
    assert told("clip_grad_norm_(autocast)  # amplint: ignore[clipping, scaler]\n", "--select", "clipping") == []
    assert sorted(told("clip_grad_norm_(autocast)  # amplint: ignore[cliping]\n")) == [
        "1 clip-before-unscale",
        "1 unknown-ignore",
    ]
