"""The end of a `with` moved up: its last statements dedented, so that they run after it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import libcst as cst

from amplint.catalogue.remedy import EndRegion
from amplint.fix.code import Change, Code, Statement
from amplint.fix.sentences import read
from amplint.fix.stage import Stage
from amplint.protocol.events import Kind

_AFTERWARDS = (
    Kind.BACKWARD,
    Kind.UNSCALE,
    Kind.SCALER_STEP,
    Kind.STEP,
    Kind.UPDATE,
    Kind.ZERO_GRAD,
    Kind.SCHEDULER_STEP,
)


def end_region(stage: Stage, action: EndRegion) -> Iterator[list[Change]]:
    """The statements from the event to the end of the `with` body, dedented, where none of them needs the region."""
    event = stage.event(action.what)
    node = stage.node(event) if event is not None else None
    if node is None:
        return
    code = stage.code
    for above in code.above(node):
        if isinstance(above, cst.FunctionDef):
            return
        if isinstance(above, cst.With):
            first = _member(code, above, node)
            if first is not None:
                yield from _dedented(stage, above, first)
            return


def _member(code: Code, region: cst.With, inner: cst.CSTNode) -> Statement | None:
    """The statement of a `with` body that holds a node."""
    if not isinstance(region.body, cst.IndentedBlock):
        return None
    for line in region.body.body:
        for one in _statements(line):
            if code.inside(inner, one):
                return one if isinstance(one, Statement) else None
    return None


def _statements(line: cst.CSTNode) -> Sequence[cst.CSTNode]:
    """The statements of what stands on a line, or the one that stands on several."""
    return line.body if isinstance(line, cst.SimpleStatementLine) else [line]


def _dedented(stage: Stage, region: cst.With, first: Statement) -> Iterator[list[Change]]:
    code = stage.code
    body = code.block(first)
    rest = body[body.index(first) :]
    if rest == body or not all(_needs_no_region(stage, one) for one in rest):
        return
    row, last = code.row(code.span(rest[0])[0]), code.row(code.span(rest[-1])[1])
    if code.text[code.starts[row] : code.span(rest[0])[0]].strip():
        return
    inner, outer = code.margin(row), code.margin(code.row(code.span(region)[0]))
    changes = []
    for one in range(row, last + 1):
        line = code.text[code.starts[one] : code.ends[one]]
        if line.strip() and not line.startswith(inner):
            return
        if line.strip():
            changes.append(Change(code.starts[one], code.starts[one] + len(inner), outer))
    yield changes


def _needs_no_region(stage: Stage, statement: Statement) -> bool:
    """Whether a statement computes nothing that autocast would do in another precision."""
    if isinstance(statement, cst.Expr) and any(read(kind, statement.value) for kind in _AFTERWARDS):
        return True
    if isinstance(statement, cst.If):
        branches = [statement.body, *([statement.orelse.body] if isinstance(statement.orelse, cst.Else) else [])]
        if isinstance(statement.orelse, cst.If):
            return False
        inner = [one for branch in branches for line in branch.body for one in _statements(line)]
        return all(isinstance(one, Statement) and _needs_no_region(stage, one) for one in inner)
    for event in stage.scene.events:
        if event.kind is Kind.CLIP and event.site.path == stage.path:
            node = stage.node(event)
            if node is not None and stage.code.statement(node) is statement:
                return True
    return ".item()" in stage.code.source(statement) or isinstance(statement, cst.Pass)
