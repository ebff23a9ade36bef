"""What becomes of an object that is bound to an attribute of `self`, in a class that runs the whole training itself.

Nobody else may get at it: every base is one that trains nothing, the attribute is named for no other object of the
module or of the project, and `self` is handed to nothing that is not seen.
"""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from dataclasses import dataclass

from amplint.dialects import vocabulary as words
from amplint.dialects.vocabulary import within
from amplint.flow import program as ir
from amplint.lower.deeds import deeds_of
from amplint.lower.names import children, last, reaches, reads, walk
from amplint.lower.usage import Usage, usage_of
from amplint.source.configured import configured

Body = tuple[ir.Stmt, ...]
_OTHERS = within("hook hooks callback callbacks listener listeners observer observers")
BASES = frozenset({"object", "Module", "ABC", "Generic", "Protocol"})
BY_NAME = frozenset({"getattr", "setattr", "vars", "attrgetter", "__dict__", "__getattr__", "__getattribute__"})


def kept_in_objects(path: str, body: Body, wanted: set[ir.Span]) -> dict[ir.Span, tuple[frozenset[str], bool]]:
    """Per call (of those wanted) whose result is bound to an attribute: what is read of it, and that its class trains;
    those that get away are left out."""
    found = {}
    for klass in body if wanted else ():
        if isinstance(klass, ir.Class) and {last(base) for base in klass.bases} <= BASES:
            for name, call in _bound(klass, wanted):
                place = _Place(path, body, klass, name)
                if (reads := place.reads()) is not None and trains(body, klass) and not place.reached_in_project():
                    found[call] = (reads, True)
    return found


def _bound(klass: ir.Class, wanted: set[ir.Span]) -> Iterator[tuple[str, ir.Span]]:
    """The attributes that a class binds to one of the wanted calls and to nothing else but a constant."""
    made: dict[str, list[ir.Expr]] = {}
    for node in walk(klass):
        if isinstance(node, ir.Assign) and _is_own(node.target):
            made.setdefault(last(node.target), []).append(node.value)
    for name, values in made.items():
        calls = [value.at for value in values if not isinstance(value, ir.Const)]
        if len(calls) == 1 and calls[0] in wanted:
            yield name, calls[0]


def _is_own(node: object) -> bool:
    """Whether an expression is an attribute of `self`."""
    return isinstance(node, ir.Attr) and _is_self(node.owner)


def _is_self(node: object) -> bool:
    return isinstance(node, ir.Name) and node.name == "self"


@dataclass(frozen=True)
class _Place:
    """An attribute of a class."""

    path: str
    body: Body
    klass: ir.Class
    name: str

    def reads(self) -> frozenset[str] | None:
        """The attributes that are read of it; None when it gets away."""
        defined = {node.name for node in self.body if isinstance(node, (ir.Class, ir.Function))}
        found: set[str] = set()
        stack: list[tuple[object, bool]] = [(node, False) for node in self.body]
        while stack:
            node, foreign = stack.pop()
            if isinstance(node, ir.Class) and node is not self.klass:
                foreign = self.klass.name not in map(last, node.bases)
            if isinstance(node, ir.Text) and self.name in node.text:
                return None
            if isinstance(node, (ir.Name, ir.Attr)) and node.name in BY_NAME:
                return None
            if not foreign and (_is_self(node) or isinstance(node, ir.Yield) or asks_others(node)):
                return None  # the object itself gets away, or others have their turn
            if isinstance(node, ir.Attr) and node.name == self.name and not (foreign and _is_self(node.owner)):
                return None
            if isinstance(node, ir.Attr) and self._is(node.owner) and not foreign:
                found.add(node.name)
                continue
            parts = children(node)
            if isinstance(node, ir.Attr) or (isinstance(node, ir.Call) and _is_seen(node, defined)):
                parts = [part for part in parts if not _is_self(part)]
            if isinstance(node, ir.Assign) and self._is(node.target):
                parts = [node.value]
            elif isinstance(node, (ir.Compare, ir.If)) and not foreign:
                parts = [part for part in parts if not self._is(part)]  # whether there is one
            stack += [(part, foreign) for part in parts]
        return frozenset(found)

    def _is(self, node: object) -> bool:
        return _is_own(node) and last(node) == self.name

    def reached_in_project(self) -> bool:
        """Whether another file names an attribute like it, of what is not its own `self`."""
        return bool(configured(self.path, {"reached": rf"(?<!\bself)\.{self.name}\b"}))


def asks_others(node: object) -> bool:
    """Whether code is called that whoever made the object has handed in: a hook, a callback."""
    return isinstance(node, (ir.Name, ir.Attr)) and (_OTHERS(node.name) or words.words(node.name)[:1] == ("on",))


def _is_seen(call: ir.Call, defined: set[str]) -> bool:
    """Whether what is called is of the module, or of Python itself."""
    name = last(call.func)
    return name in defined or hasattr(builtins, name)


def trains(body: Body, klass: ir.Class) -> bool:
    """Whether a method of a class loops over epochs and, in each, over batches, and steps an optimizer there."""
    usage = usage_of(body)
    stepping = deeds_of(body, usage).stepping
    functions = {node.name: node for node in body if isinstance(node, ir.Function)}
    methods = {f".{node.name}": node for node in klass.body if isinstance(node, ir.Function)}
    known = {name: node for name, node in (functions | methods).items() if name in stepping}
    return any(
        depth_of_steps(loop, usage, known, frozenset({name})) > 1
        for name, node in methods.items()
        for loop in walk(node)
        if isinstance(loop, ir.For) and any("epoch" in word.lower() for word in reads(loop.target) | reads(loop.source))
    )


def depth_of_steps(
    node: object, usage: Usage, known: dict[str, ir.Function], inside: frozenset[str] = frozenset()
) -> int:
    """In how many loops an optimizer steps, those of the functions that are called included; -1 where none does."""
    if isinstance(node, ir.Call) and usage.steps(node):
        return 0
    found = [depth_of_steps(part, usage, known, inside) for part in children(node)]
    if isinstance(node, ir.Call):
        for name in _called(node) & known.keys() - inside:
            found.append(depth_of_steps(known[name], usage, known, inside | {name}))
    deepest = max(found, default=-1)
    return deepest + 1 if deepest >= 0 and isinstance(node, (ir.For, ir.While)) else deepest


def _called(call: ir.Call) -> set[str]:
    """The function or method that a call itself reaches."""
    inner = {name for part in children(call) for name in reaches(part)}
    return reaches(call) - inner
