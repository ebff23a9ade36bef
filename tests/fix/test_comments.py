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


@st.composite
def programs(draw, slip):
    """A loop with a slip, laid out at random: every comment and every line that is not ours has a number."""
    unit, end = draw(st.sampled_from(["    ", "  ", "\t"])), draw(st.sampled_from(["\n", "\r\n"]))
    rows, number = [], iter(range(1000))
    for row in body(MUTANTS[slip], NAMES).splitlines():
        margin = row[: len(row) - len(row.lstrip())]
        for kind in draw(st.lists(st.sampled_from(["comment", "note", "gap"]), max_size=2)):
            rows.append(
                {"comment": f"{margin}# #{next(number)}", "note": f"{margin}note({next(number)})"}.get(kind, "")
            )
        rows.append(row + draw(st.sampled_from(["", "", f"  # #{next(number)}"])))
    text = HEAD + "".join(f"        {row}\n" if row else "\n" for row in rows)
    text = re.sub("^(    )+", lambda found: unit * (len(found[0]) // 4), text, flags=re.M)
    return draw(st.sampled_from([text, text.rstrip("\n")])).replace("\n", end)


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
        new = Counter(map(said, mended_text.splitlines())) - Counter(map(said, text.splitlines()))
        assert all(WRITTEN.fullmatch(line) for line in new if line), new
        assert ("\r\n" in mended_text) == ("\r\n" in text)
        assert "\n" not in mended_text.replace("\r\n", "") or "\r\n" not in text
        assert not done or mended_text != text
        assert mended_text.endswith("\n") or not text.endswith("\n")

    holds()


def said(line: str) -> str:
    """What a line says, its comment and its indentation aside."""
    return line.partition("#")[0].strip()
