"""Where the nodes of a LibCST tree stand: the positions of LibCST's own `PositionProvider`, in half of its time.

That one counts rows and columns at every token. Here the text is written down once and every node notes how far it had
come; which row and column that is, is worked out for the nodes that are asked about. (`libcst.metadata`, which has the
names that are imported here, would bring all of its providers.)
"""

from __future__ import annotations

from bisect import bisect_right
from types import TracebackType

import libcst as cst
from libcst._nodes.internal import CodegenState
from libcst._position import CodePosition, CodeRange

from amplint.source.evened import Moves
from amplint.source.lines import END


class Positions:
    """The places of the nodes of one tree, by the nodes themselves, which the tree holds."""

    def __init__(self, module: cst.Module, places: dict[int, tuple[int, int]], code: str, moved: Moves) -> None:
        self._module, self._places, self._moved = module, places, moved
        self._begins = [0, *(found.end() for found in END.finditer(code))]

    def __contains__(self, node: cst.CSTNode) -> bool:
        return id(node) in self._places

    def __getitem__(self, node: cst.CSTNode) -> CodeRange:
        start, end = self._places[id(node)]
        return CodeRange(self._position(start), self._position(end))

    def _position(self, offset: int) -> CodePosition:
        """The row, from 1, and the column, from 0, in the text itself."""
        row = bisect_right(self._begins, offset)
        column = offset - self._begins[row - 1]
        return CodePosition(row, max(column - self._moved.get(row, 0), 0) if self._moved else column)


def positions_of(module: cst.Module, moved: Moves) -> Positions:
    """The places of all nodes of a module. `moved`: by how much the rows of its text were indented differently."""
    state = _Offsets(module.default_indent, module.default_newline)
    module._codegen(state)
    return Positions(module, state.places, "".join(state.tokens), moved)


class _Offsets(CodegenState):
    """The writing down of a tree, with what has been written before and after each node."""

    __slots__ = ("begun", "offset", "places")

    def __init__(self, indent: str, newline: str) -> None:
        super().__init__(indent, newline)
        self.offset = 0
        self.begun: list[int] = []
        self.places: dict[int, tuple[int, int]] = {}

    def add_indent_tokens(self) -> None:
        self.tokens += self.indent_tokens
        self.offset += sum(map(len, self.indent_tokens))

    def add_token(self, value: str) -> None:
        self.tokens.append(value)
        self.offset += len(value)

    def pop_trailing_newline(self) -> None:
        """Keeps it: the nodes that end with it have counted it (the provider of LibCST 1.9 does so, too)."""

    def before_codegen(self, node: cst.CSTNode) -> None:
        self.begun.append(self.offset)

    def after_codegen(self, node: cst.CSTNode) -> None:
        """Where a node with all its whitespace stands, unless it has said where it stands without."""
        begun = self.begun.pop()
        if id(node) not in self.places:
            self.places[id(node)] = begun, self.offset

    def record_syntactic_position(  # type: ignore[override]  # a context manager like any, and not of a generator
        self, node: cst.CSTNode, *, start_node: cst.CSTNode | None = None, end_node: cst.CSTNode | None = None
    ) -> _Recorded:
        return _Recorded(self, node, start_node, end_node)


class _Recorded:
    """The writing down of a node without the whitespace around it; its ends may be those of nodes in it."""

    __slots__ = ("begun", "first", "last", "node", "state")

    def __init__(self, state: _Offsets, node: cst.CSTNode, first: cst.CSTNode | None, last: cst.CSTNode | None) -> None:
        self.state, self.node, self.first, self.last = state, node, first, last

    def __enter__(self) -> None:
        self.begun = self.state.offset

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        places = self.state.places
        start = self.begun if self.first is None else places[id(self.first)][0]
        end = self.state.offset if self.last is None else places[id(self.last)][1]
        places[id(self.node)] = start, end
