"""Whatever is mended in whatever layout: no comment is lost, and no line is changed that is about something else."""

from __future__ import annotations

import re
from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.fix.mended import mended
from tests.mutants.windows import LEGAL, body, mutants

HEAD = """\
import torch
from torch.nn.utils import clip_grad_norm_


def train(model, loader, criterion, optimizer, scaler, scheduler, accum_steps, note):
    for i, (x, y) in enumerate(loader):
"""
SLIPS = [
    "drop divide",
    "drop unscale",
    "drop update",
    "drop zero",
    "move unscale out of the gate",
    "move clip out of the gate",
    "move zero out of the gate",
    "move step out of the gate",
    "move schedule out of the gate",
    "double unscale",
    "swap divide and backward",
    "swap unscale and clip",
    "swap clip and step",
    "swap step and update",
    "swap step and schedule",
]
MUTANTS = dict(mutants(LEGAL["zeroed after"]))
NAMES = {"N": "accum_steps", '"cpu"': '"cuda"'}
WRITTEN = re.compile(
    r"scaler\.(unscale_|step|update)\(.*|optimizer\.zero_grad\(\)|scheduler\.step\(\)|clip_grad_norm_\(.*"
    r"|scaler\.scale\(loss( / accum_steps)?\)\.backward\(\)|loss = loss / accum_steps"
)
MARK = re.compile(r"#\d+|note\(\d+\)")


def is_plain(row: str) -> bool:
    """Whether a row is a small statement, and nothing else."""
    return bool(row.strip()) and "#" not in row and not re.match(r"\s*(with|if)\b", row)


def margin_of(row: str) -> int:
    return len(row) - len(row.lstrip())


def joined(draw, rows: list[str]) -> list[str]:
    """Some statements in one line with those before them, or with the `if` that they are all of."""
    made: list[str] = []
    for at, row in enumerate(rows):
        before = made[-1] if made else ""
        follows = next((margin_of(one) for one in rows[at + 1 :] if one.strip()), 0)
        alike = is_plain(before) and margin_of(before) == margin_of(row)
        opens = before.endswith(":") and margin_of(before) < margin_of(row) and follows < margin_of(row)
        if is_plain(row) and (alike or opens) and draw(st.integers(0, 3)) == 0:
            made[-1] += ("; " if alike else " ") + row.strip()
        else:
            made.append(row)
    return made


@st.composite
def programs(draw, slip):
    """A loop with a slip, laid out at random: every comment and every line that is not ours has a number."""
    unit, end = draw(st.sampled_from(["    ", "  ", "\t"])), draw(st.sampled_from(["\n", "\r\n"]))
    rows, number = [], iter(range(1000))
    for row in body(MUTANTS[slip], NAMES).splitlines():
        margin = row[: margin_of(row)]
        for kind in draw(st.lists(st.sampled_from(["comment", "note", "gap"]), max_size=2)):
            rows.append(
                {"comment": f"{margin}# #{next(number)}", "note": f"{margin}note({next(number)})"}.get(kind, "")
            )
        rows.append(row + draw(st.sampled_from(["", "", f"  # #{next(number)}"])))
    rows = joined(draw, rows)
    head = draw(st.sampled_from([HEAD, HEAD.replace("def train", "@torch.enable_grad()\n# #1000\ndef train")]))
    text = head + "".join(f"        {row}\n" if row else "\n" for row in rows)
    text = re.sub("^(    )+", lambda found: unit * (len(found[0]) // 4), text, flags=re.M)
    mark = draw(st.sampled_from(["", "\ufeff"]))
    return mark + draw(st.sampled_from([text, text.rstrip("\n")])).replace("\n", end)


@pytest.mark.parametrize("slip", SLIPS)
def test_nothing_is_lost_and_nothing_else_is_changed(slip):
    @settings(deadline=None, max_examples=2)
    @given(programs(slip))
    def holds(text):
        _, after, done = mended(text)
        mended_text = after.data.decode()
        assert Counter(MARK.findall(mended_text)) == Counter(MARK.findall(text))
        notes = [mark for mark in MARK.findall(text) if mark.startswith("note")]
        assert [mark for mark in MARK.findall(mended_text) if mark.startswith("note")] == notes
        new = Counter(said(mended_text)) - Counter(said(text))
        assert all(WRITTEN.fullmatch(one) for one in new), new
        assert ("\ufeff" in mended_text) == ("\ufeff" in text)
        assert ("\r\n" in mended_text) == ("\r\n" in text)
        assert "\n" not in mended_text.replace("\r\n", "") or "\r\n" not in text
        assert not done or mended_text != text
        assert mended_text.endswith("\n") or not text.endswith("\n")

    holds()


def said(text: str) -> list[str]:
    """The statements of a text, and the heads of compound ones, comments and indentation aside."""
    rows = [re.sub(r"#.*", "", row).strip() for row in text.splitlines()]
    return [part for row in rows for part in re.split(r"; ?|(?<=0:) ", row) if part]
