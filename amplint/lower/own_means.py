"""Functions that return the mean over their own micro-batch, whatever the window holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from amplint.dialects import DIALECTS
from amplint.dialects.dialect import Role
from amplint.dialects.syntax import PACKAGE
from amplint.flow import program as ir
from amplint.lower.names import children, last
from amplint.lower.scopes import Scope

_LOSSES = frozenset(name for dialect in DIALECTS for name in dialect.losses)
_CRITERIA = frozenset(
    name for dialect in DIALECTS for name, role in dialect.makes.items() if role is Role.CRITERION and name[-1] != "*"
)
_OLDER = frozenset({"reduce", "size_average"})
_KEEPING = frozenset({"contiguous", "cuda", "double", "float", "squeeze", "to"})
_COUNTS = frozenset({"numel", "size", "sum"})
_LARGER = frozenset({"clamp", "clamp_min", "clip", "float", "int", "item", "max", "maximum", "to"})
_DEEP = 12
_Question = Callable[["Means", ir.Expr, int], bool]


@dataclass(frozen=True)
class Means:
    """What is known of the values in one function: its scope, what its names and the attributes of its object were
    given, and the functions of the module by name. `asked`: the names that are being asked about."""

    scope: Scope
    attributes: Mapping[str, ir.Expr]
    functions: Mapping[str, ir.Function]
    given: Mapping[str, list[ir.Expr | None]] = field(default_factory=dict)
    asked: set[str] = field(default_factory=set)

    def returned(self, function: ir.Function, depth: int = _DEEP) -> bool:
        """Whether all that a function returns is such a mean, in a tuple perhaps; False where that is not certain."""
        inner = self.scope.inside(function.body, (param.name for param in function.params))
        known = Means(inner, self.attributes, self.functions, _given(function))
        values = [node.value for node in _own(function.body) if isinstance(node, ir.Return)]
        return bool(values) and all(value is not None and known._is_mean(value, depth) for value in values)

    def _is_mean(self, value: ir.Expr, depth: int) -> bool:
        if depth == 0:
            return False
        if isinstance(value, ir.Name):
            return self._all(value, depth, Means._is_mean)
        if isinstance(value, ir.Choice):
            return self._is_mean(value.yes, depth - 1) and self._is_mean(value.no, depth - 1)
        if isinstance(value, ir.Display):
            return bool(value.items) and self._is_mean(value.items[0], depth - 1)
        if isinstance(value, ir.Binary):
            return self._is_mean_of_two(value, depth - 1)
        return isinstance(value, ir.Call) and self._called(value, depth - 1)

    def _all(self, value: ir.Name, depth: int, asked: _Question) -> bool:
        """What holds of all that a local name was given; of what is made of the name itself, whatever that is."""
        given = self.given.get(value.name, [])
        if value.name in self.asked:
            return True
        self.asked.add(value.name)
        holds = bool(given) and all(one is not None and asked(self, one, depth - 1) for one in given)
        self.asked.discard(value.name)
        return holds

    def _is_mean_of_two(self, value: ir.Binary, depth: int) -> bool:
        """A sum of means, one that is weighted by a number or a setting, or a total over its own count."""
        sides = (value.left, value.right)
        if value.op in ("+", "-"):
            return all(self._is_mean(side, depth) for side in sides)
        if value.op == "*":
            return any(
                isinstance(one, (ir.Const, ir.Attr)) and self._is_mean(other, depth)
                for one, other in (sides, sides[::-1])
            )
        return value.op == "/" and self._is_total(value.left, depth) and self._is_count(value.right, depth)

    def _called(self, call: ir.Call, depth: int) -> bool:
        """A call of `mean`, of a criterion that averages, or of a function of the module that returns a mean."""
        name = last(call.func)
        if name == "mean":
            return self._is_reduced(call)
        if name in _KEEPING and isinstance(call.func, ir.Attr):
            return self._is_mean(call.func.owner, depth)
        if self.scope.qualified(call.func) in _LOSSES:
            return _reduction(call) == "mean"
        made = self._made(call.func)
        if made is not None:
            return self.scope.qualified(made.func) in _CRITERIA and _reduction(made) == "mean"
        own = self.functions.get(name) if isinstance(call.func, ir.Name) else None
        return own is not None and self.returned(own, depth)

    def _made(self, func: ir.Expr) -> ir.Call | None:
        """The call that made the object which is called."""
        if isinstance(func, ir.Attr) and last(func.owner) == "self":
            func = self.attributes.get(func.name, func)
        value = self.scope.value(func)
        return value if isinstance(value, ir.Call) else None

    def _is_reduced(self, call: ir.Call) -> bool:
        """Whether a method, or torch's function of its name, is handed nothing but the tensor."""
        is_function = isinstance(call.func, ir.Attr) and last(call.func.owner) == PACKAGE
        return not call.keywords and not call.starred and len(call.args) == is_function

    def _is_total(self, value: ir.Expr, depth: int) -> bool:
        """Whether a value is a sum over all that it is made of."""
        if depth == 0:
            return False
        if isinstance(value, ir.Name):
            return self._all(value, depth, Means._is_total)
        if not isinstance(value, ir.Call):
            return False
        if last(value.func) == "sum":
            return self._is_reduced(value)
        made = value if self.scope.qualified(value.func) in _LOSSES else self._made(value.func)
        names = _LOSSES | _CRITERIA
        return made is not None and self.scope.qualified(made.func) in names and _reduction(made) == "sum"

    def _is_count(self, value: ir.Expr, depth: int) -> bool:
        """Whether a value counts what a tensor of the micro-batch holds, made larger than 0 perhaps."""
        if depth == 0:
            return False
        if isinstance(value, ir.Name):
            return self._all(value, depth, Means._is_count)
        if isinstance(value, ir.Item):
            return last(value.owner) == "shape"
        if isinstance(value, ir.Binary):
            return value.op == "+" and isinstance(value.right, ir.Const) and self._is_count(value.left, depth - 1)
        if not isinstance(value, ir.Call):
            return False
        name = last(value.func)
        if name in _LARGER:
            held = (*value.args, *((value.func.owner,) if isinstance(value.func, ir.Attr) else ()))
            return any(self._is_count(one, depth - 1) for one in held)
        return name == "len" or (name in _COUNTS and isinstance(value.func, ir.Attr))


def _reduction(call: ir.Call) -> object:
    """How a criterion reduces, by the arguments of a call; None where that is not certain."""
    said = dict(call.keywords)
    if call.starred or not _OLDER.isdisjoint(said):
        return None
    texts = [one.value for one in call.args if isinstance(one, ir.Const) and isinstance(one.value, str)]
    given = said.get("reduction")
    if given is None:
        return texts[0] if texts else "mean"
    return given.value if isinstance(given, ir.Const) else None


def _own(nodes: object) -> Iterator[object]:
    """What stands in the blocks of a function, without those of functions and classes in it."""
    for node in nodes if isinstance(nodes, (tuple, list)) else ():
        yield node
        if not isinstance(node, (ir.Function, ir.Class, ir.Lambda)):
            yield from _own(children(node))


def _given(function: ir.Function) -> dict[str, list[ir.Expr | None]]:
    """What each name of a function is given; None for what is not an assignment of one value, and for a parameter."""
    found: dict[str, list[ir.Expr | None]] = {param.name: [None] for param in function.params}
    for node in _own(function.body):
        for name, value in _bindings(node):
            found.setdefault(name, []).append(value)
    return found


def _bindings(node: object) -> Iterator[tuple[str, ir.Expr | None]]:
    if isinstance(node, ir.Walrus):
        yield node.name, node.value
    elif isinstance(node, ir.Assign) and isinstance(node.target, ir.Name):
        yield node.target.name, node.value
    elif isinstance(node, ir.Augment):
        if node.op.rstrip("=") != "*" or not isinstance(node.value, (ir.Const, ir.Attr)):
            yield last(node.target), node.value if node.op.rstrip("=") == "+" else None
    elif isinstance(node, (ir.Assign, ir.For, ir.With)) and node.target is not None:
        yield from ((last(part), None) for part in _own((node.target,)))
