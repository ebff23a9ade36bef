"""Learning rates that the program sets by itself: from a position, and from the total that it is divided by.

`group["lr"] = rate(step, total)` moves through a schedule as a scheduler does. Where such a rate is set, a call of
`BY_HAND` is put, with the position and the total of each quotient that enters it: names that mean there what they mean
in the function which computes the rate. Anything else about the rate is not asked.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace

from amplint.dialects import vocabulary as words
from amplint.dialects.schedules import BY_HAND
from amplint.dialects.vocabulary import within
from amplint.flow import program as ir
from amplint.flow.spelling import spelled
from amplint.lower.names import RATE, dotted, functions, last, walk

Body = tuple[ir.Stmt, ...]
_GROUPS = "param_groups"
_WARM = within(words.WARMING)
_DEEP = 6
_THROUGH = frozenset({"float", "int", "max", "min"})


def with_rates_by_hand(body: Body) -> Body:
    """A module's statements, with such a call before each place where a rate is set."""
    if not any(isinstance(node, ir.Attr) and node.name == _GROUPS for statement in body for node in walk(statement)):
        return body
    named: dict[str, list[ir.Function]] = {}
    for key, function in functions(body):
        named.setdefault(key.lstrip("."), []).append(function)
    return _Rates({name: found[0] for name, found in named.items() if len(found) == 1}).suite(body)


@dataclass(frozen=True)
class _Names:
    """What names stand for: parameters for what they are given, others for the only value that they are set to."""

    given: Mapping[str, ir.Expr] = field(default_factory=dict)
    bound: Mapping[str, ir.Expr | None] = field(default_factory=dict)
    called: bool = False


@dataclass(frozen=True)
class _Rates:
    """The functions of a module that can be told apart by their names."""

    functions: Mapping[str, ir.Function]

    def suite(self, body: Body) -> Body:
        """The statements of a suite, and of all within."""
        made: list[ir.Stmt] = []
        for at, node in enumerate(body):
            value = _set(node)
            if value is not None:
                names = _Names(bound=_bound(body[:at]))
                pairs = dict.fromkeys(self._pairs(value, names, _DEEP))
                func = ir.Name(node.at, BY_HAND)
                for pair in pairs:
                    told = (*pair, ir.Const(node.at, spelled(pair[1])))
                    made.append(ir.Do(node.at, ir.Call(node.at, func, told, ())))
            made.append(self._inside(node) if value is None else node)
        return tuple(made)

    def _inside(self, node: ir.Stmt) -> ir.Stmt:
        if isinstance(node, ir.Try):
            handlers = tuple(map(self.suite, node.handlers))
            rest = self.suite(node.orelse), self.suite(node.final)
            return replace(node, body=self.suite(node.body), handlers=handlers, orelse=rest[0], final=rest[1])
        if isinstance(node, (ir.If, ir.For, ir.While)):
            return replace(node, body=self.suite(node.body), orelse=self.suite(node.orelse))
        if isinstance(node, (ir.With, ir.Function, ir.Class)):
            return replace(node, body=self.suite(node.body))
        return node

    def _pairs(self, value: ir.Expr, names: _Names, depth: int) -> Iterator[tuple[ir.Expr, ir.Expr]]:
        """The position and the total of each quotient in an expression, and in what it calls and reads."""
        if depth == 0:
            return
        for node in walk(value):
            if isinstance(node, ir.Binary) and node.op == "/":
                yield from _quotient(node, names)
            elif isinstance(node, ir.Name) and (bound := names.bound.get(node.name)) is not None:
                yield from self._pairs(bound, names, depth - 1)
            elif isinstance(node, ir.Call) and (found := self.functions.get(last(node.func))) is not None:
                yield from self._called(found, node, names, depth - 1)

    def _called(
        self, function: ir.Function, call: ir.Call, names: _Names, depth: int
    ) -> Iterator[tuple[ir.Expr, ir.Expr]]:
        """Those in a function, by what it is given."""
        owner = call.func.owner if isinstance(call.func, ir.Attr) else None
        params = [param.name for param in function.params]
        first = params[:1] if owner is not None and params[:1] == ["self"] else []
        handed = {**dict(zip(params[len(first) :], call.args, strict=False)), **dict(call.keywords)}
        handed |= {name: owner for name in first if owner is not None}
        given = {name: stands for name, value in handed.items() if (stands := _stands_for(value, names)) is not None}
        inner = _Names(given, _bound(function.body) | dict.fromkeys(params), called=True)
        for node in (part for statement in function.body for part in walk(statement)):
            if isinstance(node, (ir.Return, ir.Assign)) and node.value is not None:
                yield from self._pairs(node.value, inner, depth)


def _set(node: ir.Stmt) -> ir.Expr | None:
    """What the rate of an optimizer's groups is set to: all of them in a loop, or one; None for another statement."""
    if isinstance(node, ir.For) and _groups(node.source) and node.body:
        names = {part.name for part in walk(node.target) if isinstance(part, ir.Name)}
        found = [_rate(one) for one in node.body if isinstance(one, ir.Assign) and last(_owner(one.target)) in names]
        return next((value for value in found if value is not None), None)
    owner = _owner(node.target) if isinstance(node, ir.Assign) else None
    one = isinstance(owner, ir.Item) and _groups(owner.owner)
    return _rate(node) if isinstance(node, ir.Assign) and one else None


def _groups(node: ir.Expr) -> bool:
    """Whether an expression is an optimizer's groups, perhaps with their numbers."""
    if isinstance(node, ir.Call) and last(node.func) == "enumerate" and len(node.args) == 1:
        node = node.args[0]
    return isinstance(node, ir.Attr) and node.name == _GROUPS


def _owner(target: ir.Expr) -> ir.Expr:
    return target.owner if isinstance(target, ir.Item) else target


def _rate(node: ir.Assign) -> ir.Expr | None:
    index = node.target.index if isinstance(node.target, ir.Item) else None
    return node.value if isinstance(index, ir.Const) and index.value == RATE else None


def _bound(body: Body) -> dict[str, ir.Expr | None]:
    """What the names of a suite are set to, None for one that may be several things."""
    found: dict[str, ir.Expr | None] = {}
    for node in (part for statement in body for part in walk(statement)):
        if isinstance(node, ir.Assign) and isinstance(node.target, ir.Name):
            found[node.target.name] = None if node.target.name in found else node.value
        elif isinstance(node, (ir.Augment, ir.For)):
            found |= {part.name: None for part in walk(node.target) if isinstance(part, ir.Name)}
    return found


def _quotient(node: ir.Binary, names: _Names) -> Iterator[tuple[ir.Expr, ir.Expr]]:
    """The position and the total of a quotient, if it has one of each: `step / total`, `(step - a) / (total - a)`."""
    right = _terms(node.right)
    below = [one for one in right if not _WARM(last(one))]
    beside = set(map(dotted, right))
    above = [one for one in _terms(_within_circle(node.left)) if dotted(one) not in beside]
    if len(above) == len(below) == 1 and isinstance(above[0], (ir.Name, ir.Attr)):
        position, total = _stands_for(above[0], names), _stands_for(below[0], names)
        if isinstance(position, (ir.Name, ir.Attr)) and total is not None:
            yield position, total


def _within_circle(node: ir.Expr) -> ir.Expr:
    """What is multiplied by the number of a circle, or by 1; any other factor would count something else."""
    while isinstance(node, ir.Binary) and node.op == "*":
        plain = [_is_plain(node.left), _is_plain(node.right)]
        if plain[0] is plain[1]:
            return node
        node = node.right if plain[0] else node.left
    return node


def _is_plain(node: ir.Expr) -> bool:
    if isinstance(node, ir.Binary) and node.op == "*":
        sides = (node.left, node.right)
        return any(map(_is_plain, sides)) and all(_is_plain(one) or isinstance(one, ir.Const) for one in sides)
    return last(node) == "pi" or (isinstance(node, ir.Const) and node.value in (1, 1.0))


def _terms(node: ir.Expr) -> list[ir.Expr]:
    """What a sum or a difference is made of, numbers that are written aside."""
    if isinstance(node, ir.Const):
        return []
    if isinstance(node, ir.Binary) and node.op in ("+", "-"):
        return [*_terms(node.left), *_terms(node.right)]
    if isinstance(node, ir.Call) and last(node.func) in _THROUGH:
        return [term for part in node.args for term in _terms(part)]
    return [node]


def _stands_for(node: ir.Expr, names: _Names) -> ir.Expr | None:
    """What an expression of a function is where the rate is set; None where that is not known."""
    if not names.called:
        return node
    if isinstance(node, ir.Attr):
        owner = _stands_for(node.owner, names)
        return replace(node, owner=owner) if owner is not None else None
    if not isinstance(node, ir.Name):
        return None
    return names.given.get(node.name, None if node.name in names.bound else node)
