"""The nodes of a LibCST tree."""

from collections.abc import Iterator

import libcst as cst


def nodes_in(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """A node and all that is inside it."""
    yield node
    for child in node.children:
        yield from nodes_in(child)
