"""Schedules that a method hands to a framework which steps none of them, since the user's own method does all.

That nobody steps one is said of classes that are seen whole: every base is the framework's or of the module, and
nothing of the module gets at the schedules of a run but to look at them, hands the object to what is not seen, or calls
the method that makes them.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from amplint.dialects import LOOPS
from amplint.dialects.dialect import Loop
from amplint.flow import program as ir
from amplint.lower.handing import Handed
from amplint.lower.kept import kept
from amplint.lower.names import last, says, walk
from amplint.lower.scopes import Scope
from amplint.protocol.events import Site
from amplint.protocol.facts import IDLE, IN_A_LOOP, Fact
from amplint.source.configured import configured

_STEPS = "step"
Body = tuple[ir.Stmt, ...]


def handed_schedules(path: str, body: Body, klass: ir.Class, scope: Scope) -> Iterator[Fact]:
    """The schedules of a class that nobody steps, by the calls that make them."""
    family = _family(body, klass, scope)
    method = _method(klass, family.loop.configures) if family is not None else None
    if family is None or method is None or not family.trains or not family.keeps_to_itself(body):
        return
    found = Handed.by(method, scope).schedules
    if found and not _reached_in_project(path, family.loop):
        for call, made in found:
            said: dict[int | str, object] = {"through": family.loop.name, "schedule": made}
            yield Fact(IDLE, Site(path, *call.at), said, IN_A_LOOP)


@dataclass(frozen=True)
class _Family:
    """A class with those of its module that it derives from, and that derive from it.

    `line`: itself, and what it derives from. `own`: their methods and those of what derives from it. `nodes`: all of
    the module but the other classes of the framework. `defined`: the names of the module's classes and functions.
    """

    loop: Loop
    line: tuple[ir.Class, ...]
    own: tuple[ir.Class, ...]
    nodes: tuple[object, ...]
    defined: frozenset[str]

    @property
    def trains(self) -> bool:
        """Whether its own method does all, for certain, and steps something."""
        values = [value for node in self.nodes for value in _put(node, self.loop.off)]
        fixed = any(map(self._switches_off, self.line)) and all(says(value, False) for value in values)
        acts = any(_method(klass, name) for klass in self.own for name in self.loop.micro_step)
        steps = any(isinstance(node, ir.Call) and last(node.func) == _STEPS for node in self.nodes)
        return fixed and acts and steps and not any(map(_is_open, self.own))

    def _switches_off(self, klass: ir.Class) -> bool:
        """Whether a class says so in its body, or its constructor whatever it is given."""
        made = _method(klass, "__init__")
        return any(_put(node, self.loop.off) for node in (*klass.body, *(made.body if made else ())))

    def keeps_to_itself(self, body: Body) -> bool:
        """Whether nothing that is not seen gets at its schedules, and what is seen only looks at them."""
        names = self.loop.schedules
        looks = _looks(body, self.nodes, names)
        return not any(
            (id(node) not in looks and _says(node, names))
            or (isinstance(node, ir.Attr) and node.name == self.loop.configures)
            or self._hands_itself_on(node)
            for node in self.nodes
        )

    def _hands_itself_on(self, node: object) -> bool:
        """Whether a call is given the object itself, and is not seen."""
        if not isinstance(node, ir.Call) or not any(map(_is_self, (*node.args, *dict(node.keywords).values()))):
            return False
        name = last(node.func)
        return name not in self.defined and not hasattr(builtins, name)


def _family(body: Body, klass: ir.Class, scope: Scope) -> _Family | None:
    """The family of a class of a framework whose bases are all seen; None for another class."""
    own = {node.name: node for node in body if isinstance(node, ir.Class) and len(scope.bound.get(node.name, ())) == 1}
    line = _line(klass, own, scope) if own.get(klass.name) is klass else None
    if line is None:
        return None
    loop, above = line
    kin = {node.name: node for node in above}
    while more := {name: node for name, node in own.items() if name not in kin and _derives(node, kin)}:
        kin |= more
    others = {id(node) for node in own.values() if node.name not in kin and _line(node, own, scope)}
    nodes = tuple(part for statement in body if id(statement) not in others for part in walk(statement))
    defined = frozenset(node.name for node in body if isinstance(node, (ir.Class, ir.Function)))
    return _Family(loop, above, tuple(kin.values()), nodes, defined)


def _line(klass: ir.Class, own: Mapping[str, ir.Class], scope: Scope) -> tuple[Loop, tuple[ir.Class, ...]] | None:
    """What a framework does with a class, and the class with what it derives from; None where a base is not seen."""
    line, loops = [klass], list[Loop]()
    for node in line:
        for base in node.bases:
            inner, loop = own.get(last(base)), LOOPS.get(scope.qualified(base) or "")
            if loop is not None and loop.off:
                loops.append(loop)
            elif not isinstance(base, ir.Name) or inner is None:
                return None
            elif inner not in line:
                line.append(inner)
    return (loops[0], tuple(line)) if loops else None


def _derives(klass: ir.Class, names: Iterable[str]) -> bool:
    return not {last(base) for base in klass.bases}.isdisjoint(names)


def _method(klass: ir.Class, name: str) -> ir.Function | None:
    return next((node for node in klass.body if isinstance(node, ir.Function) and node.name == name), None)


def _is_open(klass: ir.Class) -> bool:
    """Whether a method is left to a class that derives from it: it only raises."""
    methods = (node for node in klass.body if isinstance(node, ir.Function))
    return any(node.body and all(isinstance(part, ir.Leave) for part in node.body) for node in methods)


def _put(node: object, name: str) -> list[ir.Expr]:
    """What a statement puts under a name, if it does: one value, or one of several."""
    if not isinstance(node, ir.Assign):
        return []
    pairs = [(node.target, node.value)]
    if isinstance(node.target, ir.Display) and isinstance(node.value, ir.Display):
        pairs = list(zip(node.target.items, node.value.items, strict=False))
    return [value for target, value in pairs if last(target) == name]


def _is_self(value: ir.Expr) -> bool:
    return isinstance(value, ir.Name) and value.name == "self"


def _says(node: object, names: frozenset[str]) -> bool:
    """Whether a node is one of some names, in code, in a string or as the name of a method."""
    if isinstance(node, (ir.Name, ir.Attr, ir.Function)):
        return node.name in names
    if isinstance(node, ir.Text):
        return any(name in node.text for name in names)
    return isinstance(node, ir.Const) and node.value in names


def _looks(body: Body, nodes: Iterable[object], names: frozenset[str]) -> set[int]:
    """The places, by identity, where schedules are asked for only to read something of them."""
    asked = {part.at: part for part in nodes if isinstance(part, ir.Call) and _says(part.func, names)}
    bound = {place for place, (reads, _) in kept(body, set(asked)).items() if _STEPS not in reads}
    bare = {
        part.owner.at
        for part in nodes
        if isinstance(part, ir.Attr) and part.name != _STEPS and isinstance(part.owner, ir.Call)
    }
    return {id(call.func) for place, call in asked.items() if place in bound | bare}


def _reached_in_project(path: str, loop: Loop) -> bool:
    """Whether another file of the project gets at the schedules of an object that is not its own."""
    names = "|".join(sorted(loop.schedules))
    return bool(configured(path, {"reached": rf"(?<!\bself)(?<!\bself\.trainer)\.(?:{names})\b"}))
