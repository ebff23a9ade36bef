"""LibCST expressions to program expressions."""

from __future__ import annotations

import ast
from collections.abc import Callable, Sequence
from typing import NoReturn, TypeGuard

import libcst as cst

from amplint.flow import program as ir
from amplint.source.parse import Tree

_BINARY = {
    cst.Add: "+",
    cst.Subtract: "-",
    cst.Multiply: "*",
    cst.Divide: "/",
    cst.FloorDivide: "//",
    cst.Modulo: "%",
    cst.Power: "**",
    cst.MatrixMultiply: "@",
    cst.BitAnd: "&",
    cst.BitOr: "|",
    cst.BitXor: "^",
    cst.LeftShift: "<<",
    cst.RightShift: ">>",
}
_COMPARE = {
    cst.Equal: "==",
    cst.NotEqual: "!=",
    cst.LessThan: "<",
    cst.LessThanEqual: "<=",
    cst.GreaterThan: ">",
    cst.GreaterThanEqual: ">=",
    cst.Is: "is",
    cst.IsNot: "is not",
    cst.In: "in",
    cst.NotIn: "not in",
}
AUGMENT = {
    cst.AddAssign: "+",
    cst.SubtractAssign: "-",
    cst.MultiplyAssign: "*",
    cst.DivideAssign: "/",
    cst.FloorDivideAssign: "//",
    cst.ModuloAssign: "%",
    cst.BitOrAssign: "|",
    cst.BitAndAssign: "&",
    cst.PowerAssign: "**",
}


class Expressions:
    """Lowers expressions of one tree."""

    def __init__(self, tree: Tree) -> None:
        self.tree = tree

    def span(self, node: cst.CSTNode) -> ir.Span:
        """Where a node stands: rows and columns from 1, the end exclusive."""
        place = self.tree.positions[node]
        return (place.start.line, place.start.column + 1, place.end.line, place.end.column + 1)

    def lower(self, node: cst.BaseExpression) -> ir.Expr:
        """The program expression of a syntax node."""
        make = _MAKERS.get(type(node))
        return make(self, node) if make else self.text(node)  # type: ignore[arg-type]  # of its own kind of node

    def text(self, node: cst.CSTNode) -> ir.Text:
        """An expression of which only the text is known."""
        return ir.Text(self.span(node), self.tree.module.code_for_node(node))

    def params(self, node: cst.Parameters) -> tuple[ir.Param, ...]:
        """The parameters of a function or lambda, in order."""
        plain = [(param, "") for param in (*node.posonly_params, *node.params)]
        star = [(node.star_arg, "*")] if isinstance(node.star_arg, cst.Param) else []
        named = [(param, "") for param in node.kwonly_params]
        double = [(node.star_kwarg, "**")] if node.star_kwarg else []
        return tuple(self._param(param, mark) for param, mark in (*plain, *star, *named, *double))

    def _param(self, node: cst.Param, star: str) -> ir.Param:
        default = self.lower(node.default) if node.default else None
        annotation = self.lower(node.annotation.annotation) if node.annotation else None
        return ir.Param(node.name.value, default, annotation, star)

    def _many(self, nodes: Sequence[cst.BaseElement]) -> tuple[ir.Expr, ...]:
        return tuple(self.lower(node.value) for node in nodes)


def _call(self: Expressions, node: cst.Call) -> ir.Expr:
    plain = tuple(self.lower(arg.value) for arg in node.args if arg.keyword is None and not arg.star)
    named = tuple((arg.keyword.value, self.lower(arg.value)) for arg in node.args if arg.keyword is not None)
    rest = tuple(self.lower(arg.value) for arg in node.args if arg.star == "*")
    doubles = [self.lower(arg.value) for arg in node.args if arg.star == "**"]
    items = [item for found in doubles if isinstance(found, ir.Mapping) for item in found.items]
    named += tuple((str(key.value), value) for key, value in items if isinstance(key, ir.Const))
    others: list[ir.Expr] = [found for found in doubles if not isinstance(found, ir.Mapping)]
    others += [value for key, value in items if not isinstance(key, ir.Const)]
    if isinstance(node.func, cst.Name) and node.func.value == "dict" and not plain and not rest:
        keys = tuple((ir.Const(value.at, name), value) for name, value in named)
        return ir.Mapping(self.span(node), (*keys, *((None, value) for value in others)))
    return ir.Call(self.span(node), self.lower(node.func), plain, named, (*rest, *others), len(others))


def _subscript(self: Expressions, node: cst.Subscript) -> ir.Expr:
    first = node.slice[0].slice
    if len(node.slice) == 1 and isinstance(first, cst.Slice) and first.step is None:
        ends = (self.lower(end) if end else ir.Const(self.span(node), None) for end in (first.lower, first.upper))
        return ir.Item(self.span(node), self.lower(node.value), ir.Display(self.span(node), "slice", tuple(ends)))
    whole = len(node.slice) == 1 and isinstance(first, cst.Index)
    index = self.lower(first.value) if whole and isinstance(first, cst.Index) else self.text(node.slice[0])
    return ir.Item(self.span(node), self.lower(node.value), index)


def _binary(self: Expressions, node: cst.BinaryOperation) -> ir.Expr:
    op, left, right = _BINARY.get(type(node.operator), "?"), self.lower(node.left), self.lower(node.right)
    if op == "&" and _is_one_less(right):  # the remainder of a power of two, as `i & (n - 1)`
        return ir.Binary(self.span(node), "%", left, right.left)
    return ir.Binary(self.span(node), op, left, right)


def _is_one_less(node: ir.Expr) -> TypeGuard[ir.Binary]:
    return isinstance(node, ir.Binary) and node.op == "-" and isinstance(node.right, ir.Const) and node.right.value == 1


def _unary(self: Expressions, node: cst.UnaryOperation) -> ir.Expr:
    inner = self.lower(node.expression)
    if isinstance(node.operator, cst.Not):
        return ir.Logic(self.span(node), "not", (inner,))
    if isinstance(node.operator, cst.Minus):
        if isinstance(inner, ir.Const) and isinstance(inner.value, (int, float)):
            return ir.Const(self.span(node), -inner.value)  # a literal, as `1` is
        return ir.Binary(self.span(node), "-", ir.Const(self.span(node), 0), inner)
    return inner if isinstance(node.operator, cst.Plus) else self.text(node)


def _comparison(self: Expressions, node: cst.Comparison) -> ir.Expr:
    parts: list[ir.Expr] = []
    left = self.lower(node.left)
    for target in node.comparisons:
        right = self.lower(target.comparator)
        parts.append(ir.Compare(self.span(node), _COMPARE.get(type(target.operator), "?"), left, right))
        left = right
    return parts[0] if len(parts) == 1 else ir.Logic(self.span(node), "and", tuple(parts))


def _boolean(self: Expressions, node: cst.BooleanOperation) -> ir.Expr:
    op = "and" if isinstance(node.operator, cst.And) else "or"
    return ir.Logic(self.span(node), op, (self.lower(node.left), self.lower(node.right)))


def _choice(self: Expressions, node: cst.IfExp) -> ir.Expr:
    return ir.Choice(self.span(node), self.lower(node.test), self.lower(node.body), self.lower(node.orelse))


def _display(self: Expressions, node: cst.Tuple | cst.List | cst.Set) -> ir.Expr:
    if any(isinstance(element, cst.StarredElement) for element in node.elements):
        return self.text(node)
    return ir.Display(self.span(node), type(node).__name__.lower(), self._many(node.elements))


def _mapping(self: Expressions, node: cst.Dict) -> ir.Expr:
    items = tuple(
        (self.lower(element.key) if isinstance(element, cst.DictElement) else None, self.lower(element.value))
        for element in node.elements
    )
    return ir.Mapping(self.span(node), items)


def _comprehension(self: Expressions, node: cst.ListComp | cst.GeneratorExp | cst.SetComp) -> ir.Expr:
    loop = node.for_in
    if loop.inner_for_in:
        return self.text(node)
    element = self.lower(node.elt)
    tests = tuple(self.lower(each.test) for each in loop.ifs)
    return ir.Comprehension(self.span(node), element, self.lower(loop.target), self.lower(loop.iter), tests)


def _dict_comprehension(self: Expressions, node: cst.DictComp) -> ir.Expr:
    loop = node.for_in
    if loop.inner_for_in:
        return self.text(node)
    tests = tuple(self.lower(each.test) for each in loop.ifs)
    value, target, source = self.lower(node.value), self.lower(loop.target), self.lower(loop.iter)
    return ir.Comprehension(self.span(node), value, target, source, tests, self.lower(node.key))


def _literal(self: Expressions, node: cst.Integer | cst.Float | cst.SimpleString | cst.ConcatenatedString) -> ir.Expr:
    try:
        return ir.Const(self.span(node), ast.literal_eval(self.tree.module.code_for_node(node)))
    except (ValueError, SyntaxError):  # an f-string among the parts
        return self.text(node)


def _yield(self: Expressions, node: cst.Yield) -> ir.Expr:
    each = isinstance(node.value, cst.From)
    value = node.value.item if isinstance(node.value, cst.From) else node.value
    return ir.Yield(self.span(node), self.lower(value) if value else ir.Const(self.span(node), None), each)


_WORDS: dict[str, bool | None] = {"None": None, "True": True, "False": False}


def _name(self: Expressions, node: cst.Name) -> ir.Expr:
    if node.value in _WORDS:
        return ir.Const(self.span(node), _WORDS[node.value])
    return ir.Name(self.span(node), node.value)


_MAKERS: dict[type[cst.CSTNode], Callable[[Expressions, NoReturn], ir.Expr]] = {
    cst.Name: _name,
    cst.Attribute: lambda self, node: ir.Attr(self.span(node), self.lower(node.value), node.attr.value),
    cst.Subscript: _subscript,
    cst.Call: _call,
    cst.BinaryOperation: _binary,
    cst.UnaryOperation: _unary,
    cst.Comparison: _comparison,
    cst.BooleanOperation: _boolean,
    cst.IfExp: _choice,
    cst.Tuple: _display,
    cst.List: _display,
    cst.Set: _display,
    cst.Dict: _mapping,
    cst.DictComp: _dict_comprehension,
    cst.ListComp: _comprehension,
    cst.GeneratorExp: _comprehension,
    cst.SetComp: _comprehension,
    cst.Lambda: lambda self, node: ir.Lambda(self.span(node), self.params(node.params), self.lower(node.body)),
    cst.NamedExpr: lambda self, node: ir.Walrus(self.span(node), node.target.value, self.lower(node.value)),
    cst.Await: lambda self, node: self.lower(node.expression),
    cst.Yield: _yield,
    cst.Integer: _literal,
    cst.Float: _literal,
    cst.SimpleString: _literal,
    cst.ConcatenatedString: _literal,
}
