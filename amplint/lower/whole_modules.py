"""A module as a whole: what each of its nodes stands in, what it defines, and whether it trains."""

from __future__ import annotations

from collections import Counter
from typing import TypeVar

from amplint.flow import program as ir
from amplint.lower.deeds import deeds_of
from amplint.lower.kept_in_objects import BY_NAME, depth_of_steps
from amplint.lower.names import children, last, reads
from amplint.lower.usage import usage_of

Body = tuple[ir.Stmt, ...]
_ALL_NAMES = frozenset({"eval", "exec", "globals", "locals"})


class Module:
    """A module, with what each of its nodes stands in.

    `tells_all`: names may be got at that are not written there; `hidden`: so may attributes.
    """

    def __init__(self, body: Body) -> None:
        self.body = body
        self.nodes: list[object] = []
        self.parents: dict[int, object] = {}
        self._collect(body)
        self.calls = [node for node in self.nodes if isinstance(node, ir.Call)]
        self.functions = _only([node for node in body if isinstance(node, ir.Function)])
        self.classes = _only([node for node in body if isinstance(node, ir.Class)])
        self.usage = usage_of(body)
        bare = {node.name for node in self.nodes if isinstance(node, ir.Name)}
        read = {node.name for node in self.nodes if isinstance(node, ir.Attr)}
        self.tells_all = not bare.isdisjoint(_ALL_NAMES)
        self.hidden = self.tells_all or not BY_NAME.isdisjoint(bare | read)

    def _collect(self, body: Body) -> None:
        stack: list[object] = list(body)
        while stack:
            node = stack.pop()
            self.nodes.append(node)
            inner = children(node)
            self.parents |= {id(part): node for part in inner}
            stack += inner

    def around(self, node: object, kinds: tuple[type, ...]) -> object:
        """The innermost node of some kinds that a node stands in."""
        while (node := self.parents.get(id(node))) is not None and not isinstance(node, kinds):
            pass
        return node

    def methods(self, name: str) -> list[ir.Function]:
        """The methods of the module's classes that have a name."""
        found = (node for klass in self.classes.values() for node in klass.body)
        return [node for node in found if isinstance(node, ir.Function) and node.name == name]

    def steps(self, optimizer: ir.Expr) -> bool:
        """Whether the module steps an optimizer that goes by the name of this one."""
        name = last(optimizer)
        stepping = [call for call in self.calls if self.usage.steps(call)]
        named = (last(one) for call in stepping for one in (getattr(call.func, "owner", call.func), *call.args))
        return bool(name) and name in named

    def trains(self) -> bool:
        """Whether a loop over epochs steps an optimizer for each batch."""
        stepping = deeds_of(self.body, self.usage).stepping
        inside = (node for klass in self.classes.values() for node in klass.body)
        methods = {f".{node.name}": node for node in inside if isinstance(node, ir.Function)}
        known = {name: node for name, node in (self.functions | methods).items() if name in stepping}
        loops = (node for node in self.nodes if isinstance(node, ir.For))
        return any(
            depth_of_steps(loop, self.usage, known) > 1
            for loop in loops
            if any("epoch" in word.lower() for word in reads(loop.target) | reads(loop.source))
        )


Named = TypeVar("Named", ir.Function, ir.Class)


def _only(nodes: list[Named]) -> dict[str, Named]:
    """What alone has its name."""
    counted = Counter(node.name for node in nodes)
    return {node.name: node for node in nodes if counted[node.name] == 1}
