"""The words that names are asked for."""

import ast
from collections import Counter
from pathlib import Path

from amplint.dialects import vocabulary
from amplint.dialects.vocabulary import words


def test_no_list_of_words_has_the_name_of_another_one():
    body = ast.parse(Path(vocabulary.__file__).read_text(encoding="utf-8")).body
    names = [target.id for node in body if isinstance(node, ast.Assign) for target in node.targets]
    assert [name for name, times in Counter(names).items() if times > 1] == []


def test_nan_is_one_word():
    assert words("isNaN") == ("is", "nan")
