"""A fix changes the lines that it means to and no other, however the code around is laid out."""

from __future__ import annotations

from collections import Counter
from textwrap import indent

import libcst as cst
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from amplint.fix import layout
from amplint.fix.code import Change, Code, applied, every
from amplint.fix.proof import Broken
from tests.fix import mended as whole

HEAD = """\
import torch
from torch.nn.utils import clip_grad_norm_


def train(model, loader, criterion, optimizer, scaler, scheduler, accum_steps):
"""
CLOSING = ["scaler.step(optimizer)", "scaler.update()", "optimizer.zero_grad()"]


def mended(text: str) -> tuple[str, list[str]]:
    _, after, done = whole.mended(text, ("safe",))
    return after.data.decode(), done


def added(before: str, after: str) -> list[str]:
    assert not Counter(before.splitlines(True)) - Counter(after.splitlines(True)), "a line is lost"
    return list((Counter(after.splitlines(True)) - Counter(before.splitlines(True))).elements())


COMMENTS = st.sampled_from(["", "  # why", "  # é → 日本"])
ABOVE = st.sampled_from([[], ["# a comment"], [""], ["# first", "", "# second"], ["log(loss)"]])


@st.composite
def loops(draw):
    """A loop that clips before it unscales, in many layouts."""
    unit = draw(st.sampled_from(["    ", "  ", "\t"]))
    end = draw(st.sampled_from(["\n", "\r\n"]))
    lines = ["for i, (x, y) in enumerate(loader):"]
    for part in (
        ["with torch.autocast('cuda', dtype=torch.float16):", unit + "loss = criterion(model(x), y) / accum_steps"],
        ["scaler.scale(loss).backward()"],
        ["if (i + 1) % accum_steps == 0:"],
    ):
        lines += [unit + line for line in [*draw(ABOVE), *part]]
    clip = draw(
        st.sampled_from(
            [
                ["clip_grad_norm_(model.parameters(), 1.0)"],
                ["clip_grad_norm_(", unit + "model.parameters(),", unit + "1.0,", ")"],
                ["norm = clip_grad_norm_(model.parameters(), 1.0)"],
                ["if accum_steps > 1:", unit + "clip_grad_norm_(model.parameters(), 1.0)"],
            ]
        )
    )
    clip[-1] += draw(COMMENTS)
    for part in (clip, *([line + draw(COMMENTS)] for line in CLOSING)):
        lines += [unit * 2 + line if line else line for line in [*draw(ABOVE), *part]]
    body = end.join(unit + line if line else line for line in lines)
    return HEAD.replace("\n", end) + body + draw(st.sampled_from(["", end]))


@settings(deadline=None, max_examples=12)
@given(loops())
def test_whatever_the_layout_one_line_is_added_and_none_is_touched(text):
    after, done = mended(text)
    assert done == ["clip-before-unscale"]
    assert [line.strip() for line in added(text, after)] == ["scaler.unscale_(optimizer)"]
    assert mended(after) == (after, [])


WINDOW = """\
for i, (x, y) in enumerate(loader):
    with torch.autocast('cuda', dtype=torch.float16):
        loss = criterion(model(x), y)
    scaler.scale(loss).backward()
"""


@pytest.mark.parametrize(
    ("rest", "expected"),
    [
        (
            "    x; clip_grad_norm_(model.parameters(), 1.0); scaler.step(optimizer); scaler.update()  # one line",
            "    x; scaler.unscale_(optimizer); clip_grad_norm_(model.parameters(), 1.0); scaler.step(optimizer); "
            "scaler.update()  # one line",
        ),
        (
            "    if model: clip_grad_norm_(model.parameters(), 1.0)\n    scaler.step(optimizer); scaler.update()",
            "    if model: scaler.unscale_(optimizer); clip_grad_norm_(model.parameters(), 1.0)\n"
            "    scaler.step(optimizer); scaler.update()",
        ),
    ],
)
def test_lines_of_several_statements_stay_such_lines(rest, expected):
    def program(tail):
        return HEAD + indent(f"{WINDOW}{tail}\n    optimizer.zero_grad()\n", "    ")

    assert mended(program(rest)) == (program(expected), ["clip-before-unscale"])


def test_a_fix_that_python_cannot_read_is_our_own_fault(monkeypatch):
    from amplint.fix import proof

    monkeypatch.setattr(proof, "ways", lambda code, finding, remedy, findings, runs: [((), [Change(0, 0, ")")])])
    text = HEAD + indent(WINDOW, "    ") + "        clip_grad_norm_(model.parameters(), 1.0)\n"
    text += "        scaler.step(optimizer)\n        scaler.update()\n        optimizer.zero_grad()\n"
    with pytest.raises(Broken, match="clip-before-unscale"):
        mended(text)


UNFOLDED = """\
    for i, (x, y) in enumerate(loader):
        with torch.autocast("cuda", dtype=torch.float16): loss = criterion(model(x), y)
        loss = loss / accum_steps
        scaler.scale(loss).backward()
        if (i + 1) % accum_steps == 0: scaler.unscale_(optimizer)
        note(8); clip_grad_norm_(model.parameters(), 1.0)
        if (i + 1) % accum_steps == 0:
            scaler.step(optimizer); scaler.update(); optimizer.zero_grad()
            scheduler.step()
"""


def test_a_gate_that_would_be_moved_into_a_shared_line_breaks_nothing():
    _, after, _ = whole.mended(HEAD + UNFOLDED, ("safe", "unsafe"))
    text = after.data.decode()
    compile(text, "train.py", "exec")
    assert [line.strip() for line in added(HEAD, text)].count("note(8)") == 1


def test_a_statement_with_a_suite_unfolds_the_line_that_it_comes_to():
    def unfolded(text: str, before: bool) -> str | None:
        code = Code(text)
        anchor = next(one for one in every(code.tree.module) if isinstance(one, cst.Expr) and code.source(one) == "b()")
        put = layout.before if before else layout.after
        return applied(text, [put(code, anchor, ["if c:", "    d()"])])

    assert unfolded("a(); b(); e()  # why\n", True) == "a()\nif c:\n    d()\nb()\ne()  # why\n"
    assert unfolded("if x:\n  a(); b(); e()\n", False) == "if x:\n  a()\n  b()\n  if c:\n      d()\n  e()\n"
    assert unfolded("if x: a(); b()\nf()\n", True) == "if x:\n    a()\n    if c:\n        d()\n    b()\nf()\n"
