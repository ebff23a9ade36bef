"""Where each node of a text stands."""

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider

from amplint.source.parse import parse

TEXT = """\
# a comment
@decorated(
    once=True)
def f(a, *, b: int = 3):
    if a:  # why
        return [x for x in b
                if x]

    with open("ä") as one, two: one.ü(b)
"""


def described(positions):
    return sorted((type(node).__name__, repr(place)) for node, place in positions.items())


def test_every_node_stands_where_libcst_says():
    tree = parse(TEXT)
    plain = MetadataWrapper(cst.parse_module(TEXT)).resolve(PositionProvider)
    assert described(tree.positions) == described(plain)
    assert len(tree.positions) > 100
