from __future__ import annotations

import pytest

from amplint.findings import Place
from amplint.source.markdown import scripts_of


def texts(document: str) -> list[str]:
    return [script.text for script in scripts_of(document.encode())]


def test_each_python_block_is_a_program():
    assert texts("# words\n```python\na = 1\n```\n\n~~~py\nb = a\n\nc\n~~~\n") == ["a = 1\n", "b = a\n\nc\n"]


@pytest.mark.parametrize(
    "info", ["python", "Python", "py3", "python title='x'", "{python}", "{.python #id}", " python "]
)
def test_the_ways_in_which_a_block_says_that_it_is_python(info):
    assert texts(f"```{info}\na = 1\n```\n") == ["a = 1\n"]


@pytest.mark.parametrize("info", ["", "console", "pycon", "python-console", "diff", "python`x`"])
def test_other_blocks_are_none(info):
    assert texts(f"```{info}\na = 1\n```\n") == []


def test_what_does_not_parse_is_left_out():
    assert texts("```python\nfor x in loader: ...\n    step\n```\n```python\na = 1\n```\n") == ["a = 1\n"]


def test_a_fence_is_closed_by_one_that_is_as_long_and_by_the_end():
    assert texts("````python\na = '''\n```\n'''\n````\n") == ["a = '''\n```\n'''\n"]
    assert texts("```python\na = 1") == ["a = 1\n"]


def test_a_block_in_a_list_stands_where_it_stands():
    (script,) = scripts_of(b"* words\n\n  ```python\n  if a:\n      b\n\n  ```\n")
    assert script.text == "if a:\n    b\n\n"
    assert script.place(Place(2, 5, 2, 6)) == Place(5, 7, 5, 8)


def test_bytes_that_are_no_text_hold_no_blocks():
    assert scripts_of(b"```python\n\xff\n```\n") == []
