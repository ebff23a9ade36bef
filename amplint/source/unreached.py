"""What a module holds that is never reached: it stands behind a statement that never lets go on.

Such a statement raises, asserts what is false, or ends the process; or it calls a function of the module that never
returns. Code behind a `return` is left to whoever runs the program.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from amplint.source.trees import every_node, inside

Block = list[ast.stmt]

_EXITS = frozenset({"sys.exit", "os._exit", "os.abort"})
_BUILTIN_EXITS = frozenset({"exit", "quit"})
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)


def unreached(tree: ast.Module) -> Iterator[tuple[int, int]]:
    """The first row of every stretch that is never reached, counted from 0, and the row after its last."""
    endings = _Endings(tree)
    for node in every_node(tree):
        for block in _blocks(node):
            at = next((at for at, one in enumerate(block) if endings.ends(one)), len(block))
            behind = [one for one in block[at + 1 :] if _first(one) > (block[at].end_lineno or 0)]
            if behind:
                yield _first(behind[0]) - 1, behind[-1].end_lineno or behind[-1].lineno


class _Endings:
    """The calls of a module that never return."""

    def __init__(self, tree: ast.Module) -> None:
        self.names = _exits(tree)
        functions = list(_keyed(tree, ""))
        while more := self._never_returning(functions) - self.names:
            self.names |= more

    def _never_returning(self, functions: list[tuple[str, ast.FunctionDef]]) -> set[str]:
        """The functions that never return, of several that are called alike only if all are such."""
        returning = {key for key, function in functions if not self._never_returns(function)}
        return {key for key, _ in functions} - returning

    def _never_returns(self, function: ast.FunctionDef) -> bool:
        at = next((at for at, one in enumerate(function.body) if self.ends(one)), None)
        if at is None or function.decorator_list or _is_left_to_heirs(function.body[at]):
            return False
        if any(isinstance(node, (ast.Yield, ast.YieldFrom)) for node in inside(function)):
            return False
        return not any(isinstance(node, ast.Return) for one in function.body[: at + 1] for node in inside(one))

    def ends(self, node: ast.stmt) -> bool:
        """Whether a statement never lets go on, whatever is tested in it."""
        if isinstance(node, ast.Assert):
            return isinstance(node.test, ast.Constant) and not node.test.value
        if isinstance(node, (ast.Expr, ast.Assign, ast.Return)):
            return isinstance(node.value, ast.Call) and _spelled(node.value.func) in self.names
        if isinstance(node, ast.If):
            return any(map(self.ends, node.body)) and any(map(self.ends, node.orelse))
        if isinstance(node, ast.Try):
            ways = [node.body, *(handler.body for handler in node.handlers)]
            return any(map(self.ends, node.finalbody)) or all(any(map(self.ends, way)) for way in ways)
        return isinstance(node, ast.Raise)


def _exits(tree: ast.Module) -> set[str]:
    """What a module calls to end its process."""
    found, bound = set(_EXITS), set[str]()
    for node in every_node(tree):
        if isinstance(node, ast.ImportFrom):
            spelled = {alias.asname or alias.name: f"{node.module}.{alias.name}" for alias in node.names}
            found |= {name for name, full in spelled.items() if full in _EXITS}
            bound |= spelled.keys() - found
        elif isinstance(node, ast.Import):
            modules = [(alias.asname, alias.name) for alias in node.names if alias.asname]
            found |= {full.replace(name, short, 1) for short, name in modules for full in _EXITS if _of(full, name)}
        elif isinstance(node, _FUNCTIONS):
            bound.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            bound.add(node.id)
    return found | (_BUILTIN_EXITS - bound)


def _of(full: str, module: str) -> bool:
    return full.startswith(f"{module}.")


def _keyed(node: ast.AST, owner: str) -> Iterator[tuple[str, ast.FunctionDef]]:
    """The functions and methods inside a node, as those call them that can: `f`, `self.f`."""
    for child in _statements(node):
        if isinstance(child, ast.FunctionDef):
            yield owner + child.name, child
        inside = "" if isinstance(child, _FUNCTIONS) else owner
        yield from _keyed(child, "self." if isinstance(child, ast.ClassDef) else inside)


def _is_left_to_heirs(node: ast.stmt) -> bool:
    """Whether a statement says that others have to fill in what a function does."""
    raised = node.exc if isinstance(node, ast.Raise) else None
    return _spelled(raised.func if isinstance(raised, ast.Call) else raised) == "NotImplementedError"


def _spelled(node: ast.expr | None) -> str:
    """A dotted name as it is written, empty for anything else."""
    if isinstance(node, ast.Attribute):
        return f"{_spelled(node.value)}.{node.attr}"
    return node.id if isinstance(node, ast.Name) else ""


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """What is directly inside a statement, or a part of one, and can hold statements."""
    for name in ("body", "handlers", "orelse", "finalbody", "cases"):
        yield from getattr(node, name, ())


def _blocks(node: ast.AST) -> Iterable[Block]:
    """The blocks directly inside a node."""
    if isinstance(node, ast.expr):
        return ()
    found = (getattr(node, name, None) for name in ("body", "orelse", "finalbody"))
    return [block for block in found if isinstance(block, list)]


def _first(node: ast.stmt) -> int:
    """The row at which a statement begins, its decorators included."""
    decorators: list[ast.expr] = getattr(node, "decorator_list", [])
    return min([node.lineno, *(decorator.lineno for decorator in decorators)])
