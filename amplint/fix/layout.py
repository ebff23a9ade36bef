"""Statements put before and after others, taken away and moved, as the user lays out code.

A statement brings along what belongs to it: the comment behind it, and a comment on lines of its own above it where the
statement is all that the comment can be about. Lines keep their ends, blocks their indentation (tabs too), one-line
suites and lines with `;` stay what they are.
"""

from __future__ import annotations

import ast

import libcst as cst

from amplint.fix.code import Change, Code, Statement


def before(code: Code, anchor: Statement, lines: list[str]) -> Change:
    """Lines of code written before a statement, above the comment that belongs to it."""
    start, _ = code.span(anchor)
    if _within_line(code, anchor, first=True):
        if _is_compound(lines):
            return _unfolded(code, anchor, lines, 0)
        return Change(start, start, "; ".join(line.strip() for line in lines) + "; ")
    row = _first_row(code, code.row(start))
    margin, end = code.margin(code.row(start)), code.line_end(row)
    at = code.starts[row]
    return Change(at, at, "".join(f"{margin}{line}{end}" for line in _as_its_else(code, anchor, row, lines)))


def _as_its_else(code: Code, anchor: Statement, row: int, lines: list[str]) -> list[str]:
    """Lines that go to a row, as the `else` of the `if` right above it if they stand under the opposite condition."""
    block = code.block(anchor)
    above = block[block.index(anchor) - 1]
    if not isinstance(above, cst.If) or above.orelse is not None or code.row(code.span(above)[1]) != row - 1:
        return lines
    test, opposite = above.test, f"not {code.source(above.test)}"
    if isinstance(above.test, cst.UnaryOperation) and isinstance(above.test.operator, cst.Not):
        test, opposite = above.test.expression, code.source(above.test.expression)
    is_else = isinstance(test, cst.Name | cst.Attribute) and lines[0] == f"if {opposite}:" and _only_calls(above)
    return ["else:", *lines[1:]] if is_else else lines


def _only_calls(node: cst.CSTNode) -> bool:
    """Whether a statement and those in it do nothing but call, and bind nothing that a condition may hang on."""
    if isinstance(node, Statement) and not isinstance(node, cst.Expr | cst.If):
        return False
    return all(map(_only_calls, node.children))


def after(code: Code, anchor: Statement, lines: list[str]) -> Change:
    """Lines of code written after a statement and the comment behind it."""
    start, last = code.span(anchor)
    if _within_line(code, anchor, first=False):
        if _is_compound(lines):
            return _unfolded(code, anchor, lines, 1)
        return Change(last, last, "".join(f"; {line.strip()}" for line in lines))
    row = code.row(last)
    margin, end = code.margin(code.row(start)), code.line_end(row)
    return Change(code.ends[row], code.ends[row], "".join(f"{end}{margin}{line}" for line in lines))


def _is_compound(lines: list[str]) -> bool:
    """Whether lines hold a statement with a suite, which cannot stand in one line with others."""
    return any(hasattr(node, "body") for node in ast.parse("\n".join(lines)).body)


def _unfolded(code: Code, anchor: Statement, lines: list[str], offset: int) -> Change:
    """The statements of a line, or of a suite in the line of its head, each in a line of its own, with others between
    them: before the anchor, or behind it by an offset of 1."""
    line = code.parents[anchor]
    assert isinstance(line, cst.SimpleStatementLine | cst.SimpleStatementSuite)
    pieces = [code.source(one) for one in line.body]
    at = list(line.body).index(anchor) + offset  # type: ignore[arg-type]
    start, last = code.span(line.body[0])[0], code.span(line.body[-1])[1]
    margin, end = code.margin(code.row(start)), code.line_end(code.row(start))
    if isinstance(line, cst.SimpleStatementLine):
        return Change(start, last, f"{end}{margin}".join([*pieces[:at], *lines, *pieces[at:]]))
    margin += code.tree.module.default_indent
    head = len(code.text[:start].rstrip(" \t"))
    return Change(head, last, "".join(f"{end}{margin}{one}" for one in (*pieces[:at], *lines, *pieces[at:])))


def _within_line(code: Code, statement: Statement, first: bool) -> bool:
    """Whether another statement (or the colon of a suite) stands before it, or one after it, in the same line."""
    if not isinstance(statement, cst.BaseSmallStatement):
        return False
    line = code.parents[statement]
    body = line.body if isinstance(line, cst.SimpleStatementLine | cst.SimpleStatementSuite) else ()
    if isinstance(line, cst.SimpleStatementSuite) or (len(body) > 1 and body[0 if first else -1] is not statement):
        return True
    return not first and isinstance(statement.semicolon, cst.Semicolon)


def _first_row(code: Code, row: int) -> int:
    """The row of the comment that belongs to a line: those right above it, with its indentation."""
    while row > 0 and _is_comment(code, row - 1) and code.margin(row - 1) == code.margin(row):
        row -= 1
    return row


def _is_comment(code: Code, row: int) -> bool:
    return code.text[code.starts[row] : code.ends[row]].lstrip().startswith("#")


def _is_empty(code: Code, row: int) -> bool:
    return row >= len(code.starts) or not code.text[code.starts[row] : code.ends[row]].strip()


# --- taking away -----------------------------------------------------------------------------------------------------


def together(code: Code, statements: list[Statement]) -> list[Statement]:
    """Statements, or the `if` that there is no reason for without them."""
    while code.block(statements[0]) == statements:
        suite = code.parents[statements[0]]
        suite = code.parents[suite] if isinstance(suite, cst.SimpleStatementLine) else suite
        above = code.parents[suite]
        if not isinstance(above, cst.If) or above.orelse is not None or code.statement(above) is not above:
            break
        if not isinstance(above.test, cst.Name | cst.Attribute | cst.Comparison | cst.UnaryOperation):
            break
        statements = [above]
    return statements


def lines_of(code: Code, statement: Statement) -> list[str]:
    """The lines of a statement with their comments, without their indentation."""
    if isinstance(statement, cst.BaseSmallStatement) and _shares_line(code, statement):
        return [code.source(statement)]
    first, row, end_row = _rows(code, statement)
    lines = [code.text[code.starts[at] : code.ends[at]] for at in range(first, end_row + 1)]
    return [line.removeprefix(code.margin(row)) for line in lines]


def _rows(code: Code, statement: Statement) -> tuple[int, int, int]:
    """The first row of what belongs to a statement, its own first row, and its last."""
    start, last = code.span(statement)
    row, end_row = code.row(start), code.row(last)
    return (_first_row(code, row) if _has_own_comment(code, row, end_row) else row), row, end_row


def deleted(code: Code, statement: Statement) -> Change | None:
    """The change that leaves a statement out and its comments where they are.

    None where it cannot be left out: it is all that its block holds.
    """
    start, last = code.span(statement)
    row, end_row = code.row(start), code.row(last)
    behind = code.text[last : code.ends[end_row]].lstrip(" \t;")
    alone = code.text[code.starts[row] : start].strip() == "" and behind.startswith("#")
    if alone and code.block(statement) != [statement]:
        return Change(start, code.ends[end_row] - len(behind), "")
    taken = removed(code, statement, row)
    return taken[0] if taken is not None else None


def removed(code: Code, statement: Statement, since: int | None = None) -> tuple[Change, list[str]] | None:
    """The change that takes a statement away, and its lines with their comments, without their indentation.

    `since`: the row from which on, if not from its comments on. None where it cannot be taken away: it is all that its
    block holds.
    """
    if code.block(statement) == [statement]:
        return None
    if isinstance(statement, cst.BaseSmallStatement) and _shares_line(code, statement):
        return _out_of_line(code, statement), lines_of(code, statement)
    first, _, end_row = _rows(code, statement)
    first = first if since is None else since
    lines = lines_of(code, statement)
    if first and _is_empty(code, end_row + 1) and end_row + 1 < len(code.ends) and _needs_no_gap(code, first - 1):
        end_row += 1  # of two gaps that meet, one stays
    change = (
        Change(code.ends[first - 1], code.ends[end_row], "")
        if first
        else Change(0, code.starts[min(end_row + 1, len(code.starts) - 1)], "")
    )
    return change, lines


def _needs_no_gap(code: Code, row: int) -> bool:
    """Whether nothing has to be told apart below a row: it is empty, or begins a block."""
    return _is_empty(code, row) or code.text[code.starts[row] : code.ends[row]].rstrip().endswith(":")


def _has_own_comment(code: Code, row: int, end_row: int) -> bool:
    """Whether a comment above a statement is about it alone: nothing follows it without a gap."""
    follows = end_row + 1
    return _is_empty(code, follows) or _is_comment(code, follows) or len(code.margin(follows)) < len(code.margin(row))


def _shares_line(code: Code, statement: cst.BaseSmallStatement) -> bool:
    line = code.parents[statement]
    several = isinstance(line, cst.SimpleStatementLine) and len(line.body) > 1
    return several or isinstance(line, cst.SimpleStatementSuite)


def _out_of_line(code: Code, statement: cst.BaseSmallStatement) -> Change:
    """A statement taken out of a line of several, with one of the semicolons around it."""
    line = code.parents[statement]
    body = list(line.body) if isinstance(line, cst.SimpleStatementLine | cst.SimpleStatementSuite) else []
    at = body.index(statement)
    start, end = code.span(statement)
    if at + 1 < len(body):
        return Change(start, code.span(body[at + 1])[0], "")
    return Change(code.span(body[at - 1])[1], end, "")
