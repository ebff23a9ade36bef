"""LibCST statements to program statements."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import NoReturn

import libcst as cst

from amplint.flow import program as ir
from amplint.lower.averaging import as_averages
from amplint.lower.bound_methods import by_their_objects
from amplint.lower.drawn import as_loops
from amplint.lower.expressions import AUGMENT, Expressions
from amplint.lower.flags import as_truths
from amplint.lower.freezing import as_switches
from amplint.lower.names import walk
from amplint.source.parse import Tree
from amplint.source.scout import LEFT_ASIDE


class Statements:
    """Lowers the statements of one tree."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree
        self.expressions = Expressions(tree)

    def module(self) -> tuple[ir.Stmt, ...]:
        """All statements of the module."""
        return by_their_objects(self._all(self.tree.module.body))

    def suite(self, node: cst.BaseSuite) -> tuple[ir.Stmt, ...]:
        """The statements of an indented block or a one-line suite."""
        return self._all(node.body)

    def _all(self, nodes: Iterable[cst.CSTNode]) -> tuple[ir.Stmt, ...]:
        return as_truths(as_averages(as_switches(as_loops(found for node in nodes for found in self._one(node)))))

    def _one(self, node: cst.CSTNode) -> Iterator[ir.Stmt]:
        if isinstance(node, cst.SimpleStatementLine):
            for small in node.body:
                yield from self._one(small)
            return
        make = _MAKERS.get(type(node))
        if make:
            yield from make(self, node)  # type: ignore[arg-type]  # of its own kind of node

    def span(self, node: cst.CSTNode) -> ir.Span:
        """Where a node stands."""
        return self.expressions.span(node)

    def value(self, node: cst.BaseExpression) -> ir.Expr:
        """The lowered expression."""
        return self.expressions.lower(node)

    def target(self, node: cst.BaseExpression) -> ir.Expr:
        """What is assigned to; what takes the rest (`*rest`) is a text, and those before it have their places."""
        if not isinstance(node, (cst.Tuple, cst.List)):
            return self.value(node)
        parts = tuple(
            self.expressions.text(element) if isinstance(element, cst.StarredElement) else self.target(element.value)
            for element in node.elements
        )
        return ir.Display(self.span(node), "tuple" if isinstance(node, cst.Tuple) else "list", parts)


def _assign(self: Statements, node: cst.Assign) -> Iterator[ir.Stmt]:
    value = self.value(node.value)
    for target in node.targets:
        yield ir.Assign(self.span(node), self.target(target.target), value)


def _annotated(self: Statements, node: cst.AnnAssign) -> Iterator[ir.Stmt]:
    if node.value is not None:
        yield ir.Assign(self.span(node), self.value(node.target), self.value(node.value))


def _augment(self: Statements, node: cst.AugAssign) -> Iterator[ir.Stmt]:
    op = AUGMENT.get(type(node.operator), "?")
    yield ir.Augment(self.span(node), op, self.value(node.target), self.value(node.value))


def _do(self: Statements, node: cst.Expr) -> Iterator[ir.Stmt]:
    if not isinstance(node.value, (cst.SimpleString, cst.ConcatenatedString, cst.Ellipsis)):
        yield ir.Do(self.span(node), self.value(node.value))


def _if(self: Statements, node: cst.If) -> Iterator[ir.Stmt]:
    orelse: tuple[ir.Stmt, ...] = ()
    if isinstance(node.orelse, cst.If):
        orelse = tuple(_if(self, node.orelse))
    elif node.orelse is not None:
        orelse = self.suite(node.orelse.body)
    yield ir.If(_head(self, node, node.test), self.value(node.test), self.suite(node.body), orelse)


def _match(self: Statements, node: cst.Match) -> Iterator[ir.Stmt]:
    """The cases one after the other, as an `if` with its `elif`s and `else`."""
    rest: tuple[ir.Stmt, ...] = ()
    for case in reversed(node.cases):
        test = _pattern(self, node.subject, case.pattern)
        if case.guard is not None:
            guard = self.value(case.guard)
            test = guard if test is None else ir.Logic(self.span(case.pattern), "and", (test, guard))
        name = case.pattern.name if isinstance(case.pattern, cst.MatchAs) else None
        bound = (ir.Assign(self.span(name), self.value(name), self.value(node.subject)),) if name is not None else ()
        body = (*bound, *self.suite(case.body))
        rest = body if test is None else (ir.If(self.span(case.pattern), test, body, rest),)
    yield from rest


def _pattern(self: Statements, subject: cst.BaseExpression, pattern: cst.MatchPattern) -> ir.Expr | None:
    """What a pattern asks, None for one that anything matches; of one that takes something apart, its text."""
    at = self.span(pattern)
    if isinstance(pattern, cst.MatchAs):
        return None if pattern.pattern is None else _pattern(self, subject, pattern.pattern)
    if isinstance(pattern, cst.MatchOr):
        parts = [_pattern(self, subject, one.pattern) for one in pattern.patterns]
        known = tuple(part for part in parts if part is not None)
        return ir.Logic(at, "or", known) if len(known) == len(parts) else None
    if isinstance(pattern, (cst.MatchValue, cst.MatchSingleton)):
        op = "is" if isinstance(pattern, cst.MatchSingleton) else "=="
        return ir.Compare(at, op, self.value(subject), self.value(pattern.value))
    return self.expressions.text(pattern)


def _head(self: Statements, node: cst.CSTNode, last: cst.CSTNode) -> ir.Span:
    """From the keyword to the end of the head: what an editor should underline of a compound statement."""
    row, column, _, _ = self.span(node)
    return (row, column, *self.span(last)[2:])


def _orelse(self: Statements, node: cst.For | cst.While | cst.Try) -> tuple[ir.Stmt, ...]:
    return self.suite(node.orelse.body) if node.orelse else ()


def _for(self: Statements, node: cst.For) -> Iterator[ir.Stmt]:
    target, source = self.target(node.target), self.value(node.iter)
    yield ir.For(_head(self, node, node.iter), target, source, self.suite(node.body), _orelse(self, node))


def _while(self: Statements, node: cst.While) -> Iterator[ir.Stmt]:
    yield ir.While(_head(self, node, node.test), self.value(node.test), self.suite(node.body), _orelse(self, node))


def _with(self: Statements, node: cst.With) -> Iterator[ir.Stmt]:
    body = self.suite(node.body)
    for item in reversed(node.items):
        target = self.value(item.asname.name) if item.asname else None
        body = (ir.With(self.span(item), self.value(item.item), target, body),)
    yield from body


def _try(self: Statements, node: cst.Try | cst.TryStar) -> Iterator[ir.Stmt]:
    handlers = tuple(self.suite(handler.body) for handler in node.handlers)
    final = self.suite(node.finalbody.body) if node.finalbody else ()
    orelse = self.suite(node.orelse.body) if node.orelse else ()
    catches = frozenset(name for handler in node.handlers for name in _caught(handler.type))
    yield ir.Try(self.span(node), self.suite(node.body), handlers, orelse, final, catches)


def _caught(node: cst.BaseExpression | None) -> Iterator[str]:
    """The last names of the exceptions that a handler catches; one empty name if it catches all."""
    if isinstance(node, cst.Tuple):
        for element in node.elements:
            yield from _caught(element.value)
    else:
        yield _dotted(node).rpartition(".")[2]


def _return(self: Statements, node: cst.Return) -> Iterator[ir.Stmt]:
    yield ir.Return(self.span(node), self.value(node.value) if node.value else None)


def _function(self: Statements, node: cst.FunctionDef) -> Iterator[ir.Stmt]:
    body = self.suite(node.body)
    row, _, end, _ = self.span(node)
    generator = any("yield" in line for line in self.tree.lines[row - 1 : end]) and _yields(node)
    decorators = tuple(self.value(decorator.decorator) for decorator in node.decorators)
    params = self.expressions.params(node.params)
    aside = not body and tuple(param.name for param in params) == LEFT_ASIDE
    yield ir.Function(self.span(node.name), node.name.value, params, body, decorators, generator, left_aside=aside)


def _yields(node: cst.CSTNode) -> bool:
    """Whether a function is a generator: a `yield` of its own, not of a function inside it."""
    for child in node.children:
        if isinstance(child, cst.Yield):
            return True
        if not isinstance(child, (cst.FunctionDef, cst.Lambda, cst.ClassDef)) and _yields(child):
            return True
    return False


def _class(self: Statements, node: cst.ClassDef) -> Iterator[ir.Stmt]:
    bases = tuple(self.value(_plain(base.value)) for base in node.bases)
    decorators = tuple(self.value(decorator.decorator) for decorator in node.decorators)
    fields, body = tuple(_fields(node.body)), self.suite(node.body)
    yield ir.Class(self.span(node.name), node.name.value, bases, body, decorators, fields, frozenset(_kept(body)))


def _plain(base: cst.BaseExpression) -> cst.BaseExpression:
    """The class that is derived from: of `Base[T]`, which says of what it is one, `Base`."""
    while isinstance(base, cst.Subscript):
        base = base.value
    return base


def _kept(body: tuple[ir.Stmt, ...]) -> Iterator[str]:
    """Under which names the methods of a class put something into the object that they are called on."""
    for node in (part for method in body if isinstance(method, ir.Function) for part in walk(method)):
        target = node.target if isinstance(node, ir.Assign) else None
        if isinstance(target, ir.Attr) and isinstance(target.owner, ir.Name) and target.owner.name == "self":
            yield target.name


def _fields(body: cst.BaseSuite) -> Iterator[str]:
    """The names that a class annotates, and that are not said to be the class's own."""
    lines = [line for line in body.body if isinstance(line, cst.SimpleStatementLine)]
    for node in (small for line in lines for small in line.body):
        if isinstance(node, cst.AnnAssign) and isinstance(node.target, cst.Name):
            kind = node.annotation.annotation
            shared = _dotted(kind.value if isinstance(kind, cst.Subscript) else kind)
            if shared.rpartition(".")[2] != "ClassVar":
                yield node.target.value


def _dotted(node: cst.CSTNode | None) -> str:
    if isinstance(node, cst.Attribute):
        return f"{_dotted(node.value)}.{node.attr.value}"
    return node.value if isinstance(node, cst.Name) else ""


def _import(self: Statements, node: cst.Import) -> Iterator[ir.Stmt]:
    for alias in node.names:
        full = _dotted(alias.name)
        if alias.asname:
            yield ir.Import(self.span(node), _dotted(alias.asname.name), full)
        else:
            head = full.partition(".")[0]
            yield ir.Import(self.span(node), head, head)


def _import_from(self: Statements, node: cst.ImportFrom) -> Iterator[ir.Stmt]:
    module = "." * len(node.relative) + _dotted(node.module)
    if isinstance(node.names, cst.ImportStar):
        yield ir.Import(self.span(node), "*", module)
        return
    for alias in node.names:
        name = _dotted(alias.name)
        bound = _dotted(alias.asname.name) if alias.asname else name
        yield ir.Import(self.span(node), bound, f"{module}{'' if module.endswith('.') else '.'}{name}")


def _global(self: Statements, node: cst.Global | cst.Nonlocal) -> Iterator[ir.Stmt]:
    yield ir.Global(self.span(node), tuple(item.name.value for item in node.names))


def _delete(self: Statements, node: cst.Del) -> Iterator[ir.Stmt]:
    """`del owner[index]` is a call of its method; what else is deleted is not asked for again."""
    deleted = self.target(node.target)
    for item in deleted.items if isinstance(deleted, ir.Display) else (deleted,):
        if isinstance(item, ir.Item):
            yield ir.Do(item.at, ir.Call(item.at, ir.Attr(item.at, item.owner, "__delitem__"), (item.index,), ()))


_MAKERS: dict[type[cst.CSTNode], Callable[[Statements, NoReturn], Iterator[ir.Stmt]]] = {
    cst.Del: _delete,
    cst.Assign: _assign,
    cst.AnnAssign: _annotated,
    cst.AugAssign: _augment,
    cst.Expr: _do,
    cst.If: _if,
    cst.For: _for,
    cst.While: _while,
    cst.With: _with,
    cst.Try: _try,
    cst.TryStar: _try,
    cst.Return: _return,
    cst.FunctionDef: _function,
    cst.ClassDef: _class,
    cst.Import: _import,
    cst.ImportFrom: _import_from,
    cst.Global: _global,
    cst.Nonlocal: _global,
    cst.Break: lambda self, node: iter((ir.Leave(self.span(node), "break"),)),
    cst.Continue: lambda self, node: iter((ir.Leave(self.span(node), "continue"),)),
    cst.Raise: lambda self, node: iter((ir.Leave(self.span(node), "raise"),)),
    cst.Match: _match,
    cst.Assert: lambda self, node: iter((ir.Assert(self.span(node), self.value(node.test)),)),
}
