"""A script stands in a function, or in a class."""

from __future__ import annotations

import ast

from tests.rewrites.events import holds
from tests.rewrites.scopes import INNER, bound, leaves, loaded, magical
from tests.rewrites.writing import Block, Program, fresh, name, statements


def main(program: Program) -> bool:
    """All but the imports, the functions and the classes stands in a function `main`."""
    tree = program.tree
    kept = [one for one in tree.body if isinstance(one, (ast.Import, ast.ImportFrom, *INNER))]
    moved = [one for one in tree.body if one not in kept]
    if magical(tree) or not program.alone or _first_loop(tree) is None or leaves(moved) or _guarded(tree):
        return False
    if _read_by_functions(kept) & bound(moved):
        return False
    called = fresh(tree, "main")
    (function,) = statements(f"def {called}():\n    pass", moved[0])
    assert isinstance(function, ast.FunctionDef)
    function.body = moved
    tree.body[:] = [*kept, function, *statements(f"if __name__ == '__main__':\n    {called}()", moved[-1])]
    return True


def parameters(program: Program) -> bool:
    """What begins with the first loop stands in a function that is given what it needs."""
    tree = program.tree
    at = _first_loop(tree)
    if magical(tree) or not program.alone or at is None:
        return False
    head, tail = tree.body[:at], tree.body[at:]
    if leaves(tail) or any(isinstance(one, INNER) for one in tail) or _read_by_functions(head) & bound(tail):
        return False
    known = bound(head)
    definitions = bound([one for one in head if isinstance(one, (ast.Import, ast.ImportFrom, *INNER))])
    takes = sorted((loaded(tail) & known) - definitions)
    called = fresh(tree, "train")
    (function,) = statements(f"def {called}({', '.join(takes)}):\n    pass", tail[0])
    assert isinstance(function, ast.FunctionDef)
    function.body = tail
    tree.body[:] = [*head, function, *statements(f"{called}({', '.join(takes)})", tail[-1])]
    return True


def trainer(program: Program) -> bool:
    """The script is a class: what is made before the first loop are its attributes, the rest is a method."""
    tree = program.tree
    at = _first_loop(tree)
    if magical(tree) or not program.alone or at is None:
        return False
    kept = [one for one in tree.body[:at] if isinstance(one, (ast.Import, ast.ImportFrom, *INNER))]
    made = [one for one in tree.body[:at] if one not in kept]
    tail = tree.body[at:]
    names = bound(made)
    if (
        not made
        or any(isinstance(one, INNER) for one in tail)
        or leaves([*made, *tail])
        or _read_by_functions(kept) & (names | bound(tail))
    ):
        return False
    if any(
        isinstance(node, (ast.Import, ast.ImportFrom, *INNER[:2])) for one in (*made, *tail) for node in ast.walk(one)
    ):
        return False
    held = {one for one in names if not one.startswith("__")}
    comprehended = {
        target.id
        for one in (*made, *tail)
        for node in ast.walk(one)
        if isinstance(node, ast.comprehension)
        for target in ast.walk(node.target)
        if isinstance(target, ast.Name)
    }
    if held & comprehended or held & _lambda_names([*made, *tail]) or "self" in names:
        return False
    owner = fresh(tree, "Trainer")
    text = f"class {owner}:\n    def __init__(self):\n        pass\n\n    def train(self):\n        pass"
    (definition,) = statements(text, tail[0])
    assert isinstance(definition, ast.ClassDef)
    setup, train = definition.body
    assert isinstance(setup, ast.FunctionDef)
    assert isinstance(train, ast.FunctionDef)
    setup.body, train.body = [_own(one, held) for one in made], [_own(one, held) for one in tail]
    tree.body[:] = [*kept, definition, *statements(f"{owner}().train()", tail[-1])]
    return True


def _own(statement: ast.stmt, held: set[str]) -> ast.stmt:
    class Owning(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return ast.Attribute(name("self"), node.id, node.ctx) if node.id in held else node

    owned = Owning().visit(statement)
    assert isinstance(owned, ast.stmt)
    return owned


def _lambda_names(parts: Block) -> set[str]:
    found = {
        one for part in parts for node in ast.walk(part) if isinstance(node, ast.Lambda) for one in _arguments(node)
    }
    walrus = {node.target.id for part in parts for node in ast.walk(part) if isinstance(node, ast.NamedExpr)}
    handlers = {
        node.name for part in parts for node in ast.walk(part) if isinstance(node, ast.ExceptHandler) and node.name
    }
    return found | walrus | handlers


def _arguments(node: ast.Lambda) -> list[str]:
    return [one.arg for one in ast.walk(node.args) if isinstance(one, ast.arg)]


def _first_loop(tree: ast.Module) -> int | None:
    """Where the first loop of the script that trains stands."""
    for at, one in enumerate(tree.body):
        if isinstance(one, (ast.For, ast.While, ast.With)) and holds(one, frozenset({"step", "backward"})):
            return at
    return None


def _guarded(tree: ast.Module) -> bool:
    return any(isinstance(one, ast.Compare) and "__name__" in ast.unparse(one) for one in ast.walk(tree))


def _read_by_functions(parts: Block) -> set[str]:
    """The names that the functions and classes of some statements may read."""
    return {
        node.id
        for one in parts
        for inside in ast.walk(one)
        if isinstance(inside, INNER)
        for node in ast.walk(inside)
        if isinstance(node, ast.Name)
    }
