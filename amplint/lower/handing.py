"""What a method hands to whoever calls it: the schedules among what it returns that stay with it until then."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from amplint.dialects.syntax import SCHEDULES
from amplint.flow import program as ir
from amplint.lower.names import children, last, walk
from amplint.lower.scopes import Scope


@dataclass
class Handed:
    """The schedules that are found in what a method returns.

    `given`: what each of its names is bound to, or filled with. `names`: those that hold a schedule. `calls`: what
    makes each schedule, by its place, and its public name.
    """

    scope: Scope
    given: dict[str, list[ir.Expr]] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)
    calls: dict[ir.Span, tuple[ir.Call, str]] = field(default_factory=dict)
    schedules: tuple[tuple[ir.Call, str], ...] = ()

    @staticmethod
    def by(method: ir.Function, outer: Scope) -> Handed:
        """What a method hands over; no schedules if one of them gets anywhere else."""
        found = Handed(outer.inside(method.body, (param.name for param in method.params)))
        nodes = [part for statement in method.body for part in walk(statement)]
        for name, value in (pair for node in nodes for pair in _fillings(node)):
            found.given.setdefault(name, []).append(value)
        found._follow([node.value for node in nodes if isinstance(node, ir.Return) and node.value is not None])
        if not any(map(found._leaves, method.body)):
            found.schedules = tuple(found.calls.values())
        return found

    def _follow(self, returned: list[ir.Expr]) -> None:
        """Finds the schedules in what is returned, and all names that hold one."""
        seen: set[str] = set()
        while returned:
            node = returned.pop()
            made = self.scope.qualified(node.func) if isinstance(node, ir.Call) else None
            if isinstance(node, ir.Call) and made is not None and SCHEDULES.match(made):
                self.calls[node.at] = node, made
            if isinstance(node, ir.Name) and node.name not in seen:
                seen.add(node.name)
                returned += self.given.get(node.name, ())
            returned += _parts(node)
        while more := {name for name, values in self.given.items() if any(map(self._holds, values))} - self.names:
            self.names |= more

    def _holds(self, node: ir.Expr) -> bool:
        """Whether an expression is a schedule, or holds one."""
        return self._is_held(node) or any(map(self._holds, _parts(node)))

    def _is_held(self, node: object) -> bool:
        return (isinstance(node, ir.Name) and node.name in self.names) or (
            isinstance(node, ir.Call) and node.at in self.calls
        )

    def _leaves(self, node: object, home: bool = False) -> bool:
        """Whether a schedule gets away inside a node, or is stepped. `home`: what the node is stays in sight."""
        if self._is_held(node) and not home:
            return True
        if isinstance(node, ir.Function):
            return any(map(self._is_held, walk(node)))
        return any(self._leaves(child, stays) for child, stays in self._within(node, home))

    def _within(self, node: object, home: bool) -> Iterator[tuple[object, bool]]:
        """What is directly inside a node, and whether that stays where it is seen."""
        if isinstance(node, (ir.Assign, ir.Augment)):
            yield from ((value, target in self.names) for target, value in _into(node.target, node.value))
        elif isinstance(node, ir.If):
            yield node.test, True
            yield from ((child, False) for child in (*node.body, *node.orelse))
        elif isinstance(node, ir.Call):
            filled = isinstance(node.func, ir.Attr) and self._is_held(node.func.owner)
            yield from ((child, filled and child is not node.func) for child in children(node))
        else:
            stays = home if isinstance(node, _HOLDING) else isinstance(node, (ir.Return, ir.Compare))
            stays = node.name != "step" if isinstance(node, ir.Attr) else stays
            yield from ((child, stays) for child in children(node))


_HOLDING = (ir.Display, ir.Mapping, ir.Choice, ir.Logic, ir.Comprehension)


def _parts(node: ir.Expr) -> Iterable[ir.Expr]:
    """What an expression may be, or holds."""
    if isinstance(node, ir.Display):
        return node.items
    if isinstance(node, ir.Mapping):
        return [value for _, value in node.items]
    if isinstance(node, ir.Comprehension):
        return [node.element]
    return [node.yes, node.no] if isinstance(node, ir.Choice) else []


def _fillings(node: object) -> Iterator[tuple[str, ir.Expr]]:
    """The names that a statement binds or fills, and with what."""
    if isinstance(node, (ir.Assign, ir.Augment)):
        yield from ((name, value) for name, value in _into(node.target, node.value) if name)
    elif isinstance(node, ir.Do) and isinstance(node.value, ir.Call) and isinstance(node.value.func, ir.Attr):
        owner = node.value.func.owner
        if isinstance(owner, ir.Name):
            yield from ((owner.name, value) for value in node.value.args)


def _into(target: ir.Expr, value: ir.Expr) -> Iterator[tuple[str, ir.Expr]]:
    """The bare name that each value goes to, itself or as an entry of what it names; empty for another place."""
    if isinstance(target, ir.Display) and isinstance(value, ir.Display) and len(target.items) == len(value.items):
        yield from (pair for one, part in zip(target.items, value.items, strict=True) for pair in _into(one, part))
        return
    place = target.owner if isinstance(target, ir.Item) else target
    yield (last(place) if isinstance(place, ir.Name) else ""), value
