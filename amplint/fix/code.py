"""A text with its syntax tree: which statement stands where, and what it stands in.

Fixes are edits of the text at offsets that the tree gives, never a tree printed anew: what an edit does not name stays
as it is, byte by byte.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise

import libcst as cst

from amplint.findings import Place
from amplint.protocol.events import Site
from amplint.source.lines import END
from amplint.source.parse import Tree, parse

Statement = cst.BaseSmallStatement | cst.BaseCompoundStatement
Span = tuple[int, int]


@dataclass(frozen=True)
class Change:
    """The text from one offset to another (exclusive) replaced by `content`."""

    start: int
    end: int
    content: str


@dataclass
class Code:
    """A text and its tree. Offsets count characters from 0. `ends`: where each line ends, before and after its end."""

    text: str
    tree: Tree = field(init=False)
    parents: dict[cst.CSTNode, cst.CSTNode] = field(init=False, default_factory=dict)
    starts: list[int] = field(init=False)
    ends: list[int] = field(init=False)

    def __post_init__(self) -> None:
        """Raises Unparsable."""
        self.tree = parse(self.text)
        found = list(END.finditer(self.text))
        self.starts = [0, *(end.end() for end in found)]
        self.ends = [*(end.start() for end in found), len(self.text)]
        stack: list[cst.CSTNode] = [self.tree.module]
        while stack:
            node = stack.pop()
            for child in node.children:
                self.parents[child] = node
                stack.append(child)

    # --- positions ---------------------------------------------------------------------------------------------------

    def span(self, node: cst.CSTNode) -> Span:
        """The first and the last (exclusive) offset of a node, without comments, parentheses and space around it."""
        found = self.tree.positions[node]
        return (
            self.offset(found.start.line, found.start.column + 1),
            self.offset(found.end.line, found.end.column + 1),
        )

    def outer(self, node: cst.BaseExpression) -> Span:
        """The first and the last (exclusive) offset of an expression with the parentheses around it."""
        start, end = self.span(node)
        for _ in node.lpar:
            start, end = self.text.rindex("(", 0, start), self.text.index(")", end) + 1
        return start, end

    def source(self, node: cst.CSTNode) -> str:
        """The text of a node, without parentheses around it."""
        start, end = self.span(node)
        return self.text[start:end]

    def row(self, offset: int) -> int:
        """The row of an offset, from 0."""
        return bisect_right(self.starts, offset) - 1

    def offset(self, row: int, column: int) -> int:
        """The offset of a row and a column that count from 1; the row after the last one is the end of the text."""
        return len(self.text) if row > len(self.starts) else self.starts[row - 1] + column - 1

    def place(self, start: int, end: int) -> Place:
        """A span of offsets as rows and columns."""
        first, last = self.row(start), self.row(end)
        return Place(first + 1, start - self.starts[first] + 1, last + 1, end - self.starts[last] + 1)

    def line_end(self, row: int) -> str:
        """How a line ends; the last one as the others do."""
        if row + 1 < len(self.starts):
            return self.text[self.ends[row] : self.starts[row + 1]]
        return self.text[self.ends[0] : self.starts[1]] if len(self.starts) > 1 else "\n"

    def margin(self, row: int) -> str:
        """The white space that a line begins with."""
        line = self.text[self.starts[row] : self.ends[row]]
        return line[: len(line) - len(line.lstrip(" \t\f"))]

    # --- nodes -------------------------------------------------------------------------------------------------------

    def at(self, site: Site) -> cst.CSTNode | None:
        """The innermost node that has the span of a site and is an expression, else a statement (or its head)."""
        if not (0 < site.row <= len(self.starts) and 0 < site.end_row <= len(self.starts)):
            return None
        wanted = (self.offset(site.row, site.column), self.offset(site.end_row, site.end_column))
        around = list(self._around(*wanted))
        found = [node for node in around if self.span(node) == wanted or self._head(node) == wanted]
        expressions = [node for node in found if isinstance(node, cst.BaseExpression)]
        return (expressions or found or [None])[-1]

    def _head(self, node: cst.CSTNode) -> Span | None:
        """The span of a compound statement up to its colon, by which the analysis names it."""
        if isinstance(node, cst.If | cst.While | cst.For):
            last = node.iter if isinstance(node, cst.For) else node.test
            return self.span(node)[0], self.span(last)[1]
        return None

    def _around(self, start: int, end: int) -> Iterator[cst.CSTNode]:
        """The nodes that contain a span, from the outermost."""
        stack: list[cst.CSTNode] = [self.tree.module]
        while stack:
            node = stack.pop()
            if node not in self.tree.positions:
                continue
            first, last = self.span(node)
            if node is not self.tree.module and not (first <= start and end <= last):
                continue
            yield node
            stack.extend(node.children)

    def above(self, node: cst.CSTNode) -> Iterator[cst.CSTNode]:
        """What a node stands in, from the inside out."""
        while node in self.parents:
            node = self.parents[node]
            yield node

    def statement(self, node: cst.CSTNode) -> Statement | None:
        """The statement that a node is or stands in; of an `elif`, the `if` that it belongs to."""
        for one in (node, *self.above(node)):
            if isinstance(one, Statement) and not self._is_elif(one):
                return one
        return None

    def _is_elif(self, node: cst.CSTNode) -> bool:
        above = self.parents.get(node)
        return isinstance(node, cst.If) and isinstance(above, cst.If) and above.orelse is node

    def function(self, node: cst.CSTNode) -> cst.CSTNode:
        """The function (or the module) that a node stands in."""
        scopes = (one for one in self.above(node) if isinstance(one, cst.FunctionDef | cst.Lambda))
        return next(scopes, self.tree.module)

    def block(self, statement: Statement) -> list[Statement]:
        """The statements of the suite that a statement stands in, in order."""
        suite: cst.CSTNode = self.parents[statement]
        if isinstance(suite, cst.SimpleStatementLine):
            suite = self.parents[suite]
        found: list[Statement] = []
        for child in getattr(suite, "body", ()):
            found += child.body if isinstance(child, cst.SimpleStatementLine) else [child]
        return found

    def beside(self, node: cst.CSTNode) -> Iterator[range]:
        """The rows, from 0, of the branches that are not taken where a node is reached, up to the loop around it."""
        for above in self.above(node):
            if isinstance(above, cst.For | cst.While | cst.FunctionDef):
                return
            if not isinstance(above, cst.If) or self.inside(node, above.test):
                continue
            for branch in (above.body, above.orelse):
                if branch is not None and not self.inside(node, branch):
                    first, last = self.span(branch)
                    yield range(self.row(first), self.row(last) + 1)

    def inside(self, node: cst.CSTNode, outer: cst.CSTNode) -> bool:
        """Whether a node is another one or stands in it."""
        return node is outer or any(one is outer for one in self.above(node))

    def exclude(self, one: cst.CSTNode, other: cst.CSTNode) -> bool:
        """Whether two nodes stand in different branches of an `if`."""
        for above in self.above(one):
            if isinstance(above, cst.If) and above.orelse is not None and self.inside(other, above):
                sides = [self.inside(node, above.orelse) for node in (one, other)]
                return sides[0] != sides[1]
        return False


def in_order(changes: list[Change]) -> list[Change]:
    """Changes by place; those of one place stay in the order in which they are meant."""
    return sorted(changes, key=lambda change: (change.start, change.end))


def applied(text: str, changes: list[Change]) -> str | None:
    """The text with the changes made; None where they overlap."""
    ordered = in_order(changes)
    for before, after in pairwise(ordered):
        if after.start < before.end:
            return None
    parts, at = [], 0
    for change in ordered:
        parts += [text[at : change.start], change.content]
        at = change.end
    return "".join([*parts, text[at:]])


def offsets_of(text: str) -> list[int]:
    """The offset at which each line starts."""
    return [0, *(end.end() for end in END.finditer(text))]


def every(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """A node and all that stands in it, in the order of the text."""
    yield node
    for child in node.children:
        yield from every(child)
