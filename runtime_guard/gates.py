"""The condition that lets a call happen only on some micro-steps, read from the source of the function that runs.

What happens shows that a step is made on every fourth micro-step; which `if` makes it so stands in the source alone.
It is read once per place, with the standard library, and only to say where the gate is and how its length is spelled.
Without source there is no gate, and rules that speak of one are silent or point at the step.
"""

from __future__ import annotations

import ast
import linecache
import re
import sys
from collections.abc import Iterator
from itertools import pairwise
from types import CodeType

from amplint.protocol.events import Branches, Gate, Site
from runtime_guard.sites import Owner, Place, Sites

_BOUNDARY = re.compile(r"(?i)accum|boundary|sync|update|step|last|micro|window")
_MAX_LINES = 50_000
_FLAG = ast.Name | ast.Attribute | ast.Call


class Gates:
    """The gates of the places seen so far."""

    def __init__(self, sites: Sites) -> None:
        self._sites = sites
        self._trees: dict[str, ast.Module | None] = {}
        self._known: dict[tuple[Site, ...], Gate | None] = {}
        self._branches: dict[tuple[Site, ...], Branches] = {}
        self._shown: dict[Site, Gate] = {}
        self._loops: dict[Site, range] = {}

    def of(self, stack: Place) -> Gate | None:
        """The gate of the innermost call of a stack; where a helper's parameter decides, the call of the helper."""
        if stack not in self._known:
            self._known[stack] = self._found(self._sites.chain.get(stack, stack))
        return self._known[stack]

    def branches(self, stack: Place) -> Branches:
        """The branches of the user's conditions that the calls of a stack stand in, each within its own function."""
        if stack not in self._branches:
            chain = self._sites.chain.get(stack, stack)
            self._branches[stack] = frozenset(
                ((*chain[:depth], Site(site.path, node.lineno)), branch)
                for depth, site in enumerate(chain)
                if self._sites.owner(site.path) is Owner.USER
                for node, branch in _branches_on(self._path(site))
            )
        return self._branches[stack]

    def at(self, site: Site) -> Gate:
        """The gate that what happens at a place shows, and no source."""
        return self._shown.setdefault(site, Gate(site))

    def _found(self, stack: tuple[Site, ...]) -> Gate | None:
        for depth in range(len(stack) - 1, max(len(stack) - 5, -1), -1):
            if depth < len(stack) - 1 and self._sites.owner(stack[depth].path) is not Owner.USER:
                return None  # a library that calls the user's code has conditions of its own
            path = self._path(stack[depth])
            gate, passes_on, in_loop = _gate_on(path, stack[depth])
            if gate is not None and stack[depth] in self._sites.code_of:
                self._sites.code_of.setdefault(gate.site, self._sites.code_of[stack[depth]])
            if gate is not None and (loop := _whole_loop(path)) is not None:
                self._loops[gate.site] = range(loop.lineno, (loop.end_lineno or loop.lineno) + 1)
            if gate is not None and passes_on and depth > 0:
                return Gate(stack[depth - 1], gate.length, gate.restarts)
            if gate is not None:
                return gate
            if in_loop:
                return None
        return None

    def made_behind(self, gate: Gate, site: Site) -> bool:
        """Whether what is used at a place behind a gate is made there: on other micro-steps there is none."""
        tree = self._tree(site.path, self._sites.code_of.get(site)) if gate.site.path == site.path else None
        nodes = list(ast.walk(tree)) if tree is not None else []
        used = {name for one in nodes if isinstance(one, ast.Expr) and _covers(one, site) for name in _loaded(one)}
        made = [one for one in nodes if isinstance(one, ast.Assign) and gate.site.row < one.lineno <= site.row]
        return any(
            isinstance(target, ast.Name) and target.id in used and target.id not in _loaded(one.value)
            for one in made
            for target in one.targets
        )

    def over(self, gates: dict[str, Gate | None]) -> str:
        """The names of the gates whose loops have run out."""
        return " ".join(name for name, gate in gates.items() if gate is not None and self._over(gate.site))

    def _over(self, site: Site) -> bool:
        """Whether the loop over the batches that a gate lies in has run out: nothing leaves it, and none runs now."""
        rows, walker = self._loops.get(site), sys._getframe(1)
        while rows is not None and walker is not None:
            if walker.f_code.co_filename == site.path and walker.f_lineno in rows:
                return False
            walker = walker.f_back  # type: ignore[assignment]
        return rows is not None

    def _path(self, site: Site) -> list[ast.AST]:
        """The nodes around a place, outermost first, from the function that it stands in."""
        tree = self._tree(site.path, self._sites.code_of.get(site))
        if tree is None:
            return []
        path: list[ast.AST] = [tree]
        while (inner := _around(path[-1], site)) is not None:
            path.append(inner)
        functions = [at for at, node in enumerate(path) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
        return path[functions[-1] :] if functions else path

    def _tree(self, path: str, code: CodeType | None) -> ast.Module | None:
        if path not in self._trees:
            self._trees[path] = None
            lines = linecache.getlines(path)
            if 0 < len(lines) <= _MAX_LINES:
                try:
                    self._trees[path] = ast.parse("".join(lines))
                except (SyntaxError, ValueError, RecursionError):
                    return None
        return self._trees[path]


def _covers(node: ast.stmt, site: Site) -> bool:
    return node.lineno <= site.row <= (node.end_lineno or node.lineno)


def _loaded(node: ast.AST) -> set[str]:
    """The variables that are read in a piece of source."""
    return {one.id for one in ast.walk(node) if isinstance(one, ast.Name) and isinstance(one.ctx, ast.Load)}


def _around(node: ast.AST, site: Site) -> ast.AST | None:
    """The child of a node that a place lies in."""
    for child in ast.iter_child_nodes(node):
        first = getattr(child, "lineno", None)
        if first is None:
            if (inner := _around(child, site)) is not None:
                return inner
            continue
        start = (first, child.col_offset + 1 if site.column else 0)  # type: ignore[attr-defined]
        end = (child.end_lineno, child.end_col_offset + 1)  # type: ignore[attr-defined]
        if start <= (site.row, site.column) and (site.row, site.column) < end:
            return child
    return None


def _gate_on(path: list[ast.AST], site: Site) -> tuple[Gate | None, bool, bool]:
    """The innermost condition on a path that tells micro-steps apart, whether it is a parameter of the function that
    is passed on, and whether the path lies in a loop of its own function."""
    in_loop = any(isinstance(node, ast.For | ast.While) for node in path)
    parameters = _parameters(path[0]) if path else frozenset()
    tests = list(_conditions(path))
    telling = [(node, test) for node, test in tests if _tells(test) or _counted(test, path[0])] or [
        (node, test) for node, test in tests if _compares(test)
    ]
    for node, test in telling[:1]:
        names, remainder = frozenset(_names(test)), next(_remainders(test), None) or _counted(test, path[0])
        length = ast.unparse(remainder.right) if remainder is not None else None
        place = Site(site.path, node.lineno, node.col_offset + 1 if site.column else 0)
        restarts = True if _index(remainder, path) else False if _at_zero(test) else None
        return Gate(place, length, restarts), bool(names) and names <= parameters, in_loop
    return None, False, in_loop


def _index(remainder: ast.BinOp | None, path: list[ast.AST]) -> bool:
    """Whether a remainder is one of the index that the innermost loop on the path counts its turns with."""
    loop = next((node for node in reversed(path) if isinstance(node, ast.For | ast.While)), None)
    counter = remainder.left if remainder is not None else None
    if isinstance(counter, ast.BinOp) and isinstance(counter.right, ast.Constant):
        counter = counter.left
    if not isinstance(counter, ast.Name) or not isinstance(loop, ast.For):
        return False
    index = loop.target.elts[0] if isinstance(loop.target, ast.Tuple) else loop.target
    counts = any(isinstance(node, ast.Name) and node.id == "enumerate" for node in ast.walk(loop.iter))
    return counts and isinstance(index, ast.Name) and index.id == counter.id


_LEAVING = ast.Return | ast.Raise | ast.Yield | ast.YieldFrom


def _whole_loop(path: list[ast.AST]) -> ast.For | None:
    """The innermost loop on a path, if it is one that goes on until there is nothing left to iterate over."""
    loop = next((node for node in reversed(path) if isinstance(node, ast.For | ast.While)), None)
    if not isinstance(loop, ast.For) or any(isinstance(node, _LEAVING) for node in ast.walk(loop)):
        return None
    return None if any(map(_breaks, loop.body)) else loop


def _breaks(node: ast.AST) -> bool:
    """Whether a statement may end the loop that it stands in."""
    if isinstance(node, ast.For | ast.While):
        return any(map(_breaks, node.orelse))
    return isinstance(node, ast.Break) or any(map(_breaks, ast.iter_child_nodes(node)))


def _conditions(path: list[ast.AST]) -> Iterator[tuple[ast.If | ast.IfExp, ast.expr]]:
    """The conditions that a place stands under, innermost first, up to the loop around it: those around it, and those
    before it in the same block that go on with the next micro-step."""
    for outer, inner in zip(reversed(path[:-1]), reversed(path[1:]), strict=True):
        if isinstance(outer, ast.If | ast.IfExp) and inner is not outer.test:
            yield outer, outer.test
        for block in (getattr(outer, name, None) for name in ("body", "orelse")):
            if isinstance(block, list) and inner in block:
                for sibling in reversed(block[: block.index(inner)]):
                    if isinstance(sibling, ast.If) and isinstance(sibling.body[-1], ast.Continue | ast.Return):
                        yield sibling, sibling.test
        if isinstance(outer, ast.For | ast.While):
            return


_JUMPS = ast.Continue | ast.Break | ast.Return | ast.Raise


def _branches_on(path: list[ast.AST]) -> Iterator[tuple[ast.If, int]]:
    """The conditions that a place stands under, and in which of their branches; what follows a branch that ends with a
    jump is the other one."""
    for outer, inner in pairwise(path):
        for name in ("body", "orelse"):
            block = getattr(outer, name, None)
            if not isinstance(block, list) or inner not in block:
                continue
            if isinstance(outer, ast.If):
                yield outer, int(name == "orelse")
            for sibling in block[: block.index(inner)]:
                if isinstance(sibling, ast.If) and isinstance(sibling.body[-1], _JUMPS):
                    yield sibling, 1
                elif isinstance(sibling, ast.If) and sibling.orelse and isinstance(sibling.orelse[-1], _JUMPS):
                    yield sibling, 0


def _tells(test: ast.expr) -> bool:
    return next(_remainders(test), None) is not None or any(_BOUNDARY.search(name) for name in _names(test))


def _counted(test: ast.expr, scope: ast.AST) -> ast.BinOp | None:
    """The remainder from which one statement of the function computes a flag that is the test, or its opposite."""
    flag = test.operand if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) else test
    if not isinstance(flag, ast.Name):
        return None
    made = [
        node.value
        for node in ast.walk(scope)
        if isinstance(node, ast.Assign) and any(isinstance(to, ast.Name) and to.id == flag.id for to in node.targets)
    ]
    return next(_remainders(made[0]), None) if len(made) == 1 else None


def _compares(test: ast.expr) -> bool:
    parts = [node for node in ast.walk(test) if isinstance(node, ast.Compare)]
    return any(not isinstance(operator, ast.Is | ast.IsNot) for part in parts for operator in part.ops)


def _at_zero(test: ast.expr) -> bool:
    """Whether a condition asks whether a counter or remainder is zero, or is a flag that was computed elsewhere."""
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not) and isinstance(test.operand, _FLAG):
        return True
    if isinstance(test, _FLAG):
        return True
    for node in ast.walk(test):
        if isinstance(node, ast.Compare) and any(
            isinstance(c, ast.Constant) and c.value == 0 for c in node.comparators
        ):
            return True
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not) and isinstance(node.operand, ast.BinOp):
            return True
    return False


def _parameters(node: ast.AST) -> frozenset[str]:
    if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
        return frozenset()
    spec = node.args
    return frozenset(argument.arg for argument in (*spec.posonlyargs, *spec.args, *spec.kwonlyargs))


def _names(test: ast.AST) -> Iterator[str]:
    for node in ast.walk(test):
        if isinstance(node, ast.Name):
            yield node.id
        elif isinstance(node, ast.Attribute):
            yield node.attr


def _remainders(test: ast.AST) -> Iterator[ast.BinOp]:
    return (node for node in ast.walk(test) if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod))
