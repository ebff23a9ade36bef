"""Which names the parts of a program bind, read and share."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from tests.rewrites.writing import BUILTINS, Block

Function = ast.FunctionDef | ast.AsyncFunctionDef
Scope = ast.Module | Function
INNER = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda, ast.ClassDef)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_FLOW = (ast.Return, ast.Yield, ast.YieldFrom, ast.Await, ast.Delete, ast.Global, ast.Nonlocal)


def scopes(tree: ast.Module) -> list[Scope]:
    """The module, and every function in it."""
    return [tree, *(node for node in ast.walk(tree) if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)))]


def within(parts: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """The nodes of one scope: functions and classes are told, what is in them is not."""
    for part in parts:
        yield part
        if not isinstance(part, INNER):
            yield from within(ast.iter_child_nodes(part))


def inner(parts: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """The nodes that stand in functions and classes of a scope."""
    for part in within(parts):
        if isinstance(part, INNER):
            yield from (node for child in ast.iter_child_nodes(part) for node in ast.walk(child))


def bound(parts: Iterable[ast.AST]) -> set[str]:
    """The names that the statements bind in their own scope."""
    found: set[str] = set()
    for node in within(parts):
        if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            found.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found |= {(one.asname or one.name).partition(".")[0] for one in node.names}
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
            found.add(node.name)
    return found - loop_names(parts)


def loop_names(parts: Iterable[ast.AST]) -> set[str]:
    """The names that comprehensions bind for themselves."""
    return {
        target.id
        for node in within(parts)
        if isinstance(node, _COMPREHENSIONS)
        for generator in node.generators
        for target in ast.walk(generator.target)
        if isinstance(target, ast.Name)
    }


def loaded(parts: Iterable[ast.AST]) -> set[str]:
    """The names that the statements read, in functions of theirs too."""
    parts = list(parts)
    found = {
        node.id
        for part in parts
        for node in ast.walk(part)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }
    found |= {
        node.target.id
        for part in parts
        for node in ast.walk(part)
        if isinstance(node, ast.AugAssign) and isinstance(node.target, ast.Name)
    }
    return found - loop_names(parts)


def parameters(function: Function | ast.Lambda) -> list[str]:
    """The names of a function's parameters."""
    given = function.args
    more = [one for one in (given.vararg, given.kwarg) if one]
    return [one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs, *more)]


def uses(tree: ast.AST, wanted: str) -> list[ast.Name]:
    """Every place where a name stands as a name."""
    return [node for node in ast.walk(tree) if isinstance(node, ast.Name) and node.id == wanted]


def leaves(parts: Iterable[ast.AST]) -> bool:
    """Whether control leaves the statements elsewhere than at their end, or they yield, delete or declare."""
    parts = list(parts)
    if any(isinstance(node, _FLOW) for node in within(parts)):
        return True
    return any(isinstance(node, (ast.Break, ast.Continue)) for node in _of_this_loop(parts))


def _of_this_loop(parts: Iterable[ast.AST]) -> Iterator[ast.AST]:
    for part in parts:
        yield part
        if isinstance(part, (ast.For, ast.While, ast.AsyncFor)):
            yield from _of_this_loop(part.orelse)
        elif not isinstance(part, INNER):
            yield from _of_this_loop(ast.iter_child_nodes(part))


def settled(tree: ast.Module) -> set[str]:
    """What a module binds by imports, functions and classes alone, and so never anew."""
    made = [one for one in tree.body if isinstance(one, (ast.Import, ast.ImportFrom, *INNER))]
    others = [one for one in tree.body if one not in made]
    return bound(made) - bound(others)


def magical(tree: ast.AST) -> bool:
    """Whether names are looked up by their spelling, or declared to belong elsewhere."""
    return any(
        isinstance(node, (ast.Global, ast.Nonlocal))
        or (isinstance(node, ast.Name) and node.id in {"locals", "globals", "vars", "eval", "exec", "__all__"})
        or (isinstance(node, ast.ImportFrom) and node.names[0].name == "*")
        for node in ast.walk(tree)
    )


@dataclass(frozen=True)
class Part:
    """Statements in a row that could stand elsewhere: what they take, and what they give back."""

    scope: Scope
    block: Block
    start: int
    stop: int
    takes: tuple[str, ...]
    gives: tuple[str, ...]

    @property
    def body(self) -> Block:
        """The statements themselves."""
        return self.block[self.start : self.stop]


def part(tree: ast.Module, scope: Scope, block: Block, start: int, stop: int) -> Part | None:
    """Some statements of a block as a part; None if they cannot be taken out of it."""
    body = block[start:stop]
    if any(isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)) for one in body for node in ast.walk(one)):
        return None  # its own names are not told apart
    if leaves(body) or any(isinstance(node, ast.NamedExpr) for one in body for node in ast.walk(one)):
        return None
    if any(isinstance(node, ast.Name) and node.id == "super" for one in body for node in ast.walk(one)):
        return None
    stores = bound(body)
    chosen = set(map(id, body))
    outside = [one for one in scope.body if id(one) not in chosen]
    elsewhere = _read_outside(outside, chosen)
    known_before = stores & (
        _stored_outside(outside, chosen) | (set(parameters(scope)) if not _module(scope) else set())
    )
    gives = sorted(stores & (elsewhere | (known_before & loaded(body))))  # what it reads may be of the turn before
    surely = {node.id for one in body for node in _surely_bound(one)}
    if set(gives) - surely - known_before:
        return None  # bound in some runs alone
    carried = known_before & (set(gives) | loaded(body))
    if isinstance(scope, ast.Module) and stores & {n.id for n in inner(tree.body) if isinstance(n, ast.Name)}:
        return None  # a function reads it as a global
    takes = ((loaded(body) - stores) | carried) - BUILTINS - settled(tree)
    return Part(scope, block, start, stop, tuple(sorted(takes)), tuple(gives))


def _module(scope: Scope) -> bool:
    return isinstance(scope, ast.Module)


def _read_outside(parts: Iterable[ast.AST], chosen: set[int]) -> set[str]:
    """The names that are read in a scope outside of the chosen statements."""
    found: set[str] = set()
    for one in parts:
        if id(one) in chosen:
            continue
        if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load):
            found.add(one.id)
        if isinstance(one, ast.AugAssign) and isinstance(one.target, ast.Name):
            found.add(one.target.id)
        found |= _read_outside(ast.iter_child_nodes(one), chosen)
    return found


def _stored_outside(parts: Iterable[ast.AST], chosen: set[int]) -> set[str]:
    found: set[str] = set()
    for one in parts:
        if id(one) in chosen or isinstance(one, INNER):
            continue
        if isinstance(one, ast.Name) and not isinstance(one.ctx, ast.Load):
            found.add(one.id)
        found |= _stored_outside(ast.iter_child_nodes(one), chosen)
    return found


def _surely_bound(statement: ast.stmt) -> Iterator[ast.Name]:
    """The names that a statement binds whatever happens."""
    if isinstance(statement, (ast.Assign, ast.AnnAssign)):
        targets = statement.targets if isinstance(statement, ast.Assign) else [statement.target]
        yield from (node for one in targets for node in ast.walk(one) if isinstance(node, ast.Name))
    elif isinstance(statement, (ast.With, ast.AsyncWith)):
        for one in statement.body:
            yield from _surely_bound(one)
