"""What a constant hides: a window of one micro-step, by a name that is written to be changed.

`gradient_accumulation_steps = 1` at module level, in a class that holds a configuration, or below
`if __name__ == "__main__"`, is folded, and with it every mistake that needs a longer window. The same program with that
length left open shows them: they are *latent*.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from amplint.flow import program as ir
from amplint.state.counting import names_window

Body = tuple[ir.Stmt, ...]


def released(program: ir.Program) -> tuple[ir.Program, tuple[str, ...]]:
    """The program with its windows of constant length 1 left open, and their names; none if it has none."""
    bound = Counter(_bound(program.body))
    names = tuple(name for name in dict.fromkeys(_ones(program.body)) if bound[name] == 1)
    return (replace(program, body=_opened(program.body, frozenset(names))) if names else program), names


def _is_one(node: ir.Stmt) -> bool:
    value = node.value if isinstance(node, ir.Assign) and isinstance(node.target, ir.Name) else None
    return isinstance(value, ir.Const) and type(value.value) is int and value.value == 1


def _ones(body: Body) -> Iterator[str]:
    """The names of windows that a module sets to 1, a class of it, or what it does as a script."""
    for node in body:
        if isinstance(node, ir.Class):
            yield from _ones(node.body)
        elif isinstance(node, ir.If):
            yield from _ones((*node.body, *node.orelse))
        elif isinstance(node, ir.Assign) and isinstance(node.target, ir.Name) and _is_one(node):
            if names_window(node.target.name):
                yield node.target.name


def _bound(body: Body) -> Iterator[str]:
    """Every name that a statement of a program sets, however often it does."""
    stack: list[ir.Stmt] = list(body)
    while stack:
        node = stack.pop()
        if isinstance(node, (ir.Assign, ir.Augment)) and isinstance(node.target, (ir.Name, ir.Attr)):
            yield node.target.name
        for part in ("body", "orelse", "final"):
            stack += getattr(node, part, ())


def _opened(body: Body, names: frozenset[str]) -> Body:
    return tuple(_one_opened(node, names) for node in body)


def _one_opened(node: ir.Stmt, names: frozenset[str]) -> ir.Stmt:
    if isinstance(node, ir.Class):
        return replace(node, body=_opened(node.body, names))
    if isinstance(node, ir.If):
        return replace(node, body=_opened(node.body, names), orelse=_opened(node.orelse, names))
    if isinstance(node, ir.Assign) and isinstance(node.target, ir.Name) and node.target.name in names:
        return replace(node, value=ir.Name(node.value.at, node.target.name))
    return node
