"""Files and functions stay small enough to be read at once."""

import ast
from pathlib import Path

ROOT = Path(__file__).parents[2]
PACKAGES = ("amplint", "runtime_guard")
ROWS_OF_A_FILE = 400
ROWS_OF_A_FUNCTION = 40
TYPED = ("domains", "flow", "lower", "machine", "state")
"""The rooms of the interpreter, in which every value is of a type that is named."""
VAGUE = {"utils", "util", "helpers", "common", "misc", "base", "core"}


def sources(root):
    return [path for package in PACKAGES for path in sorted((root / package).rglob("*.py"))]


def long_files(root):
    return [path.name for path in sources(root) if len(path.read_text(encoding="utf-8").splitlines()) > ROWS_OF_A_FILE]


def long_functions(root):
    """Functions of too many rows, signature and docstring included."""
    trees = ((path, ast.parse(path.read_text(encoding="utf-8"))) for path in sources(root))
    functions = (
        (path, node)
        for path, tree in trees
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
    )
    return [f"{path.name}:{node.name}" for path, node in functions if rows(node) > ROWS_OF_A_FUNCTION]


def rows(node):
    return node.end_lineno - node.lineno + 1


def untyped(root):
    """The files of the interpreter that take a value of any type for one of each."""
    files = (path for room in TYPED for path in sorted((root / "amplint" / room).rglob("*.py")))
    names = ((path, ast.walk(ast.parse(path.read_text(encoding="utf-8")))) for path in files)
    return sorted({path.name for path, nodes in names for node in nodes if is_any(node)})


def is_any(node):
    return isinstance(node, ast.alias) and node.name == "Any"


def test_every_value_of_the_interpreter_has_a_type():
    assert untyped(ROOT) == []


def test_a_value_of_any_type_is_seen(tmp_path):
    (tmp_path / "amplint" / "machine").mkdir(parents=True)
    (tmp_path / "amplint" / "machine" / "loose.py").write_text(
        "from typing import Any, cast\nvalue: Any = cast(int, 1)\n"
    )
    (tmp_path / "amplint" / "machine" / "typed.py").write_text("value: int = 1  # Any number\n")
    assert untyped(tmp_path) == ["loose.py"]


def test_no_file_is_too_long():
    assert long_files(ROOT) == []


def test_no_function_is_too_long():
    assert long_functions(ROOT) == []


def test_no_module_has_a_name_that_says_nothing():
    assert [path.name for path in sources(ROOT) if path.stem in VAGUE] == []


def test_what_is_too_long_is_seen(tmp_path):
    (tmp_path / "amplint").mkdir()
    (tmp_path / "amplint" / "long.py").write_text("def f():\n" + "    pass\n" * 400)
    (tmp_path / "amplint" / "short.py").write_text("def g():\n" + "    pass\n" * 39)
    assert long_files(tmp_path) == ["long.py"]
    assert long_functions(tmp_path) == ["long.py:f"]
