"""The names that a value goes by, wherever a module binds it, puts it into another one or hands it on."""

import pytest

from amplint.flow import program as ir
from amplint.lower.carried import carried
from amplint.lower.names import last, walk
from tests.lower.lowered import body_of


def names(text):
    return carried(body_of(text), lambda node: isinstance(node, ir.Call) and last(node.func) == "source", walk)


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("a = source()", "a"),
        ("a = source()\nb = a", "b"),
        ("self.a = source()", "a"),
        ("a = [source()]", "a"),
        ("a = {'k': source()}", "a"),
        ("a.append(source())", "a"),
        ("a = source()\nfor b in a:\n    pass", "b"),
        ("a = source()\nc = [b for b in a]", "b"),
        ("a, b = one, source()", "b"),
        ("def f(b):\n    pass\nf(source())", "b"),
        ("def f(one, b):\n    pass\nf(1, b=source())", "b"),
        ("def f():\n    return source()\nb = f()", "b"),
        ("class C:\n    def __init__(self, b):\n        pass\nC(source())", "b"),
        ("each(lambda b: b, source())", "b"),
        ("def f(b):\n    pass\neach(f, source())", "b"),
        ("a = source()\none, b = keep(1, a)", "b"),
    ],
)
def test_a_name_that_holds_a_source_is_known(text, name):
    assert name in names(text)


@pytest.mark.parametrize(
    "text",
    ["a = other()", "a, b = source(), other()", "def f(a, b):\n    pass\nf(source(), 1)", "a = source()\nb = other()"],
)
def test_another_name_is_not(text):
    assert "b" not in names(text)


def test_nothing_is_named_where_there_is_no_source():
    assert names("a = other()\nb = a") == frozenset()
