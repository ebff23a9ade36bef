"""Where each node of a text stands."""

import libcst as cst
from libcst.metadata import MetadataWrapper, PositionProvider

from amplint.source.parse import parse
from tests.source.nodes import nodes_in

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


def described(places):
    return sorted((type(node).__name__, repr(place)) for node, place in places)


def test_every_node_stands_where_libcst_says():
    tree = parse(TEXT)
    plain = MetadataWrapper(cst.parse_module(TEXT)).resolve(PositionProvider)
    found = [(node, tree.positions[node]) for node in nodes_in(tree.module) if node in tree.positions]
    assert described(found) == described(plain.items())
    assert len(found) > 100
