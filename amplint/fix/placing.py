"""Lines that go next to a statement, and the condition that they stand under."""

from __future__ import annotations

import libcst as cst

from amplint.fix import layout
from amplint.fix.code import Change, Statement
from amplint.fix.sentences import read
from amplint.fix.stage import Stage
from amplint.protocol.events import Kind


def last_alike(stage: Stage, kind: Kind, anchor: Statement) -> Statement:
    """The last of several statements in a row that do the same to several objects, and the scaler's update with it."""
    block = stage.code.block(anchor)
    for other in block[block.index(anchor) + 1 :]:
        if not isinstance(other, cst.Expr) or not (read(kind, other.value) or read(Kind.UPDATE, other.value)):
            break
        anchor = other
    return anchor


def conditional(stage: Stage, condition: str, lines: list[str]) -> list[str]:
    """Lines under a condition, if there is one."""
    if not condition:
        return lines
    return [f"if {condition}:", *(f"{stage.code.tree.module.default_indent}{line}" for line in lines)]


def beside(stage: Stage, anchor: Statement, lines: list[str], before: bool) -> Change:
    """The change that writes lines before a statement, or behind it."""
    return layout.before(stage.code, anchor, lines) if before else layout.after(stage.code, anchor, lines)
