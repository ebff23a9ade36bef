"""What Python takes and LibCST refuses is read all the same, and everything stands where it is written."""

import ast

import libcst as cst
import pytest

from amplint.analysis import findings_of
from amplint.source.parse import parse
from amplint.source.reading import Unparsable
from tests.source.nodes import nodes_in

TAKEN = {
    "a tab deeper than two spaces": "if a:\n  if b:\n\t  y = (1,\n2,  x)\n\t  z = 1\n  w = 2\n",
    "tab and spaces in turn": "class A:\n def f(self):\n\t  x = 1\n\t  if x:\n  \t\t y = 2\n\t  z = 3\n",
    "a form feed before an indentation": "def f():\n    x = 1\n\f    y = 2\n",
    "a form feed before a function": "x = 1\n\fdef f():\n    return x\n",
    "a line that only goes on": "if a:\n    \\\n    x = 1\ny = 2\n",
    "a first line that only goes on": "\\\nx = 1\n",
    "carriage returns": "if a:\r  if b:\r\t  x = 1\r\t  z = 2\ry = 2\r",
    "no end of the last line": "if a:\n  if b:\n\t  x = 1",
}


@pytest.mark.parametrize("text", TAKEN.values(), ids=TAKEN)
def test_every_name_stands_where_python_says(text):
    tree = parse(text)
    starts = [tree.positions[node].start for node in nodes_in(tree.module) if isinstance(node, cst.Name)]
    found = {(start.line, start.column) for start in starts}
    asked = {(node.lineno, node.col_offset) for node in ast.walk(ast.parse(text)) if isinstance(node, ast.Name)}
    assert len(asked) > 0
    assert asked <= found


@pytest.mark.parametrize("text", ["(x): int\ny = 1\n", "def f():\n    (x): int  # of a name\n    y = 1\n"])
def test_a_statement_that_libcst_cannot_read_is_left_out(text):
    names = [node.value for node in nodes_in(parse(text).module) if isinstance(node, cst.Name)]
    assert "y" in names
    assert "x" not in names


def test_where_no_statement_can_be_left_out_the_text_is_still_taken_by_python():
    with pytest.raises(Unparsable) as refused:
        parse("(x): int; y = 1\n")
    assert refused.value.taken


def test_a_file_of_many_refused_statements_is_given_up():
    with pytest.raises(Unparsable) as refused:
        parse("(x): int\n" * 9)
    assert refused.value.taken


def test_what_python_refuses_is_refused_in_its_words():
    with pytest.raises(Unparsable) as refused:
        parse("if a:\n    x = 1\n  y = 2\n")
    assert not refused.value.taken
    assert "unindent" in refused.value.why


def test_a_mistake_in_a_loop_of_tabs_and_spaces_is_found_where_it_stands():
    text = (
        "def train(model, loader, optimizer):\n    for epoch in range(3):\n"
        "\t    for x in loader:\n\t      model(x).mean().backward()\n\t      optimizer.step()\n"
    )
    (found,) = findings_of(text, "train.py")
    assert (found.code, found.place.row, found.place.column) == ("missing-zero-grad", 4, 8)
