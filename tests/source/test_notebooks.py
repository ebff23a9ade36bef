from __future__ import annotations

import ast
import json

import pytest

from amplint.findings import Place
from amplint.source import notebooks
from amplint.source.ipython import plain
from amplint.source.languages import script_of
from amplint.source.notebooks import notebook_of
from amplint.source.reading import LIMIT, Unreadable
from tests.source.cells import PYTHON, code, markdown, notebook


def test_the_code_cells_are_one_program_in_the_order_of_the_file():
    script = notebook_of(notebook("a = 1\n", markdown("# words"), "b = a\nc = b", "", code("d = 1", execution_count=1)))
    assert script.text == "a = 1\n\nb = a\nc = b\n\nd = 1\n"
    assert script.texts == {1: "a = 1\n", 3: "b = a\nc = b", 4: "", 5: "d = 1"}
    assert script.broken == ()


def test_a_place_is_told_by_cell_and_by_row_and_column_within_it():
    script = notebook_of(notebook(markdown("# words"), "x = 1", "%time f()\ng(\n    1,\n)"))
    rows = script.text.splitlines()
    assert rows == ["x = 1", "f()", "g(", "    1,", ")"]
    assert script.place(Place(1, 1, 1, 2)) == Place(1, 1, 1, 2, 2)
    assert script.place(Place(2, 1, 2, 4)) == Place(1, 7, 1, 10, 3)
    assert script.place(Place(3, 1, 5, 2)) == Place(2, 1, 4, 2, 3)
    assert script.place(Place(1, 1, 4, 2)) == Place(1, 1, 1, 2, 2)  # a span ends with its cell
    assert script.place(Place(99, 1, 99, 2)).cell == 3


def test_a_file_without_cells_keeps_its_places():
    script = script_of(b"x = 1\n", "x.py")
    assert script.place(Place(1, 2, 3, 4)) == Place(1, 2, 3, 4)
    assert script.texts == {None: "x = 1\n"}


@pytest.mark.parametrize(
    ("cell", "expected"),
    [
        ("%matplotlib inline\nx = 1", "pass\nx = 1"),
        ("!pip install -q \\\n    torch \\\n    timm\nx = 1", "pass\n\n\nx = 1"),
        ("!!ls\nx = 1", "pass\nx = 1"),
        ("if a:\n    !mkdir out\nelse:\n\t%cd out", "if a:\n    pass\nelse:\n\tpass"),
        ("model?\nmodel.train??\n?model\n??model\n%time?\nfiles.*?;", "pass\n" * 5 + "pass"),
        ("%time train()", "train()"),
        ("%timeit -n 10 -r3 train(1)", "train(1)"),
        ("for x in y:\n    %time train(\n        x)", "for x in y:\n    train(\n        x)"),
        ("%time", "pass"),
        ("%%time\ntrain()", "\ntrain()"),
        ("# words\n\n%%capture out\n%%time\ntrain()\n!ls", "# words\n\n\n\ntrain()\npass"),
        ("%%bash\necho 'loss.backward()", "\n"),
        ("%%writefile train.py\nloss.backward()\nx", "\n\n"),
        ("%%timeit", ""),
        ("files = !ls *.py\na, b[0] = %who x", "files = get_ipython()\na, b[0] = get_ipython()"),
        ("pip install torch\ncd ..\nx = 1", "pass\npass\nx = 1"),
        ("x = 1 \\\n  % 2\n%ls", "x = 1 \\\n  % 2\npass"),
        ("x = (a\n  % b)\n%ls", "x = (a\n  % b)\npass"),
        ("s = '''\n!not a command\n%nor this\n'''\n%ls", "s = '''\n!not a command\n%nor this\n'''\npass"),
        ('s = "it\'s # (" # (\n%ls', 's = "it\'s # (" # (\npass'),
        ("s = 'a\\'b\\\n!c'\n%ls", "s = 'a\\'b\\\n!c'\npass"),
        ('f("""\\""" \' """, r\'\\\\\')\n!ls', 'f("""\\""" \' """, r\'\\\\\')\npass'),
        ("/f 1 2\n,f a b\n;f a b\nx = 1", "pass\npass\npass\nx = 1"),
        ("plt.plot(x);\n%ls", "plt.plot(x);\npass"),
        ("x = [\n!ls", "x = [\n!ls"),
        ("\n  # words\n  x = 1\n\n  for y in x:\n    f(y)\n", "\n# words\nx = 1\n\nfor y in x:\n  f(y)\n"),
        ("    %%time\n    x = 1\ny = 2", "\nx = 1\ny = 2"),
    ],
)
def test_a_cell_of_ipython_in_plain_python(cell, expected):
    moved = plain(cell)
    assert "\n".join(line for line, _ in moved) == expected
    assert len(moved) == len(cell.split("\n"))


def test_columns_of_what_a_magic_runs_are_known():
    assert plain("if x:\n    %time  train()") == [("if x:", 0), ("    train()", 7)]


def test_columns_of_a_cell_that_is_indented_are_known():
    script = notebook_of(notebook("  x = 1\n  %time  f(x)"))
    assert (script.text, script.broken) == ("x = 1\nf(x)\n", ())
    assert script.place(Place(1, 1, 1, 2)) == Place(1, 3, 1, 4, 1)
    assert script.place(Place(2, 1, 2, 5)) == Place(2, 10, 2, 14, 1)


@pytest.mark.parametrize(
    "cell",
    ["x = y %\\\n time", "'''\n%time x\n'''", "plt.plot(x);", "f(a\n != b)", "await f()"],
)
def test_what_is_python_already_stays(cell):
    ast.parse(cell)
    assert notebook_of(notebook(cell)).text == cell + "\n"


def test_python_newer_than_the_interpreter_is_kept(monkeypatch):
    newer = "try:\n    f()\nexcept* E:\n    g()"
    monkeypatch.setattr(notebooks, "tree_of", lambda text: None)
    script = notebook_of(notebook(newer))
    assert (script.text, script.broken) == (newer + "\n", ())


def test_a_cell_that_is_no_python_is_left_out_and_named():
    script = notebook_of(notebook("a = 1", "print 'no'\nx = 1\n", "b = 2"))
    assert script.text == "a = 1\n\n\n\nb = 2\n"
    (place, why) = script.broken[0]
    assert (place.cell, place.row, place.column) == (2, 1, 1)
    assert "print" in why


@pytest.mark.parametrize(
    ("metadata", "read"),
    [
        (PYTHON, True),
        ({}, True),
        ({"kernelspec": {"language": "python"}}, True),
        ({"language_info": {"name": "ipython"}}, True),
        ({"language_info": {"name": "julia"}}, False),
        ({"kernelspec": {"language": "R", "name": "ir"}}, False),
        ({"kernelspec": None, "language_info": 3}, True),
    ],
)
def test_only_a_python_kernel_s_cells_are_read(metadata, read):
    assert bool(notebook_of(notebook("x = 1", metadata=metadata)).text) is read


def test_cells_in_another_language_are_not_read():
    other = code("SELECT 1", metadata={"vscode": {"languageId": "sql"}})
    own = code("x = 1", metadata={"vscode": {"languageId": "python"}})
    assert notebook_of(notebook(other, own)).text == "x = 1\n"


def test_format_3_and_sources_in_one_piece_are_read():
    sheet = {"cells": [{"cell_type": "heading", "source": "x"}, {"cell_type": "code", "language": "python"}]}
    sheet["cells"][1]["input"] = ["x = 1\n", "y = 2"]
    script = notebook_of(json.dumps({"worksheets": [sheet, None], "nbformat": 3}).encode())
    assert (script.text, script.texts) == ("x = 1\ny = 2\n", {2: "x = 1\ny = 2"})
    assert notebook_of(notebook(code("", source="x = 1\r\ny = 2"))).text == "x = 1\ny = 2\n"


def test_what_a_notebook_should_not_hold_does_not_matter():
    odd = [None, "x", {"cell_type": "code"}, code("", source=None), code("x = '\0\ud800'"), code("x = 1")]
    script = notebook_of(json.dumps({"cells": odd}).encode())
    assert script.text.endswith("x = 1\n")
    assert set(script.texts) == {5, 6}
    assert notebook_of(b"\xef\xbb\xbf" + notebook("x = 1")).text == "x = 1\n"


@pytest.mark.parametrize(
    ("data", "row", "why"),
    [
        (b'{"cells": [\n<<<<<<< HEAD\n', 2, "not valid JSON"),
        (b"\xff", 1, "utf-8"),
        (b"", 1, "is empty"),
        (b" \n", 1, "is empty"),
        (b"null", 1, "no cells"),
        (b"[]", 1, "no cells"),
        (b'{"cells": 3}', 1, "no cells"),
        (b"[" * 200_000, 1, "too deeply"),
        (notebook("x = '" + "y" * LIMIT + "'"), 1, "larger than 1 MiB"),
        (notebook("(" * 300), 1, "brackets"),
    ],
)
def test_what_cannot_be_read_as_a_notebook_is_said(data, row, why):
    with pytest.raises(Unreadable, match=why) as caught:
        notebook_of(data)
    assert caught.value.row == row
