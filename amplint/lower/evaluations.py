"""Evaluations that keep the graph of every batch: what a model gives is added up with all that it was computed from,
and nothing says that no gradients are wanted.

Said only where all of it is in sight: the model is put into evaluation, the function is called by the module, and
whatever stands around the loop and around the calls is known to leave gradients on.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from amplint.dialects import vocabulary as words
from amplint.dialects.vocabulary import within
from amplint.flow import program as ir
from amplint.flow.spelling import spelled
from amplint.lower.names import calls, children, functions, last, reads, walk
from amplint.protocol.events import Site
from amplint.protocol.facts import EVALUATED, Fact

Body = tuple[ir.Stmt, ...]

_MODEL = within(words.MODEL)
_LOSS = within(words.LOSS, words.CRITERION)
_HARMLESS = within(words.REGION, words.TOOL, "open device")
"""What may stand around a loop and switches no gradients off."""
_TRAINS = frozenset({"backward", "manual_backward", "step", "zero_grad", "grad"})
_PLAIN = frozenset({"staticmethod", "classmethod", "property"})
_OUTPUTS = frozenset({"loss", "logits", "loss_dict"})


def kept_graphs(path: str, body: Body) -> Iterator[Fact]:
    """Every place where an evaluation keeps the graphs of its batches."""
    nodes = [node for statement in body for node in walk(statement)]
    called = {last(node.func) for node in nodes if isinstance(node, ir.Call)}
    if not {"eval", "backward", "step"} <= called or "set_grad_enabled" in called:
        return
    every = list(functions(body))
    seen = _Callers(tuple(one for _, one in every), frozenset(one.name for key, one in every if key[0] != "."), body)
    for _, function in every:
        names = calls(function)
        if "eval" in names and (seen.leave_gradients_on(function) or "backward" in names):
            for name, node in _kept(function):
                yield Fact(EVALUATED, Site(path, *node.at), {"name": name})


@dataclass(frozen=True)
class _Callers:
    """Who calls the functions of a module. `bare`: the names of those that are no methods."""

    functions: tuple[ir.Function, ...]
    bare: frozenset[str]
    body: Body

    def leave_gradients_on(self, function: ir.Function, depth: int = 3) -> bool:
        """Whether the module calls a function, and never where gradients may be off."""
        if not _is_plain(function) or not depth:
            return False
        sites = [site for site in self._sites(function.name) if site[0] is not function]
        return bool(sites) and all(known and self._may_begin(inside, depth) for inside, known in sites)

    def _may_begin(self, function: ir.Function | None, depth: int) -> bool:
        """Whether gradients are on where a function begins: it trains, or whoever calls it leaves them on; None: the
        module itself."""
        if function is None:
            return True
        trains = _is_plain(function) and self._goes_back(function, frozenset())
        return trains or self.leave_gradients_on(function, depth - 1)

    def _goes_back(self, function: ir.Function, above: frozenset[str]) -> bool:
        """Whether a function back-propagates, itself or by functions of the module."""
        called = calls(function) - above
        known = above | called
        return "backward" in called or any(self._goes_back(one, known) for one in self.functions if one.name in called)

    def _sites(self, name: str) -> Iterator[tuple[ir.Function | None, bool]]:
        """Where a function of a name is called: inside of which one, and whether what stands around leaves gradients
        on."""
        for function in self.functions:
            yield from ((function, known) for known in _calls(function.body, name, name in self.bare))
        outside = [node for node in self.body if not isinstance(node, (ir.Function, ir.Class))]
        yield from ((None, known) for known in _calls(outside, name, name in self.bare))


def _calls(nodes: Iterable[object], name: str, bare: bool, known: bool = True) -> Iterator[bool]:
    """Of each call of a name, of none but a bare one perhaps, whether what stands around it leaves gradients on."""
    for node in nodes:
        if isinstance(node, (ir.Function, ir.Class)):
            continue
        if isinstance(node, ir.Call) and last(node.func) == name and (isinstance(node.func, ir.Name) or not bare):
            yield known
        on = known and not (isinstance(node, ir.With) and not _is_harmless(node))
        yield from _calls(children(node), name, bare, on)


def _is_plain(function: ir.Function) -> bool:
    """Whether nothing is put around a function that might switch gradients off."""
    return all(last(decorator) in _PLAIN for decorator in function.decorators)


def _is_harmless(node: ir.With) -> bool:
    context = node.context
    return _HARMLESS(last(context.func if isinstance(context, ir.Call) else context))


def _kept(function: ir.Function) -> Iterator[tuple[str, ir.Node]]:
    """What keeps graphs in the loops of a function, and where it is added to."""
    owners = {
        spelled(node.func.owner)
        for node in walk(function)
        if isinstance(node, ir.Call) and isinstance(node.func, ir.Attr) and node.func.name == "eval"
    }
    backed = {name for node in walk(function) if _is_backward(node) for name in reads(node)}
    for loop in _loops(function.body):
        inner = _Loop(loop, owners)
        if inner.evaluates:
            for target, node in inner.totals():
                if not backed & {target, target.partition(".")[0]} - {"self"}:
                    yield target, node


def _is_backward(node: object) -> bool:
    return isinstance(node, ir.Call) and last(node.func) == "backward"


def _loops(nodes: Iterable[object]) -> Iterator[ir.For]:
    """The loops in statements, but those inside of something that may switch gradients off."""
    for node in nodes:
        if isinstance(node, ir.For):
            yield node
        if isinstance(node, (ir.For, ir.While, ir.If, ir.Try)) or (isinstance(node, ir.With) and _is_harmless(node)):
            yield from _loops(children(node))


class _Loop:
    """A loop of an evaluation. `graphs`: the names of what carries a graph in it."""

    def __init__(self, loop: ir.For, models: set[str]) -> None:
        self.loop, self.models = loop, models
        self.nodes = [node for statement in loop.body for node in walk(statement)]
        self.graphs: set[str] = set()
        self._follow()

    @property
    def evaluates(self) -> bool:
        """Whether the loop trains nothing, and nothing in it may switch gradients off."""
        called = {last(node.func) for node in self.nodes if isinstance(node, ir.Call)}
        regions = (node for node in self.nodes if isinstance(node, ir.With))
        return called.isdisjoint(_TRAINS) and all(map(_is_harmless, regions))

    def _follow(self) -> None:
        """Finds what carries a graph: what a model gave, and what is a loss of that."""
        made = [node for node in self.nodes if isinstance(node, ir.Assign)]
        for node in (*made, *made):
            parts = node.target.items if isinstance(node.target, ir.Display) else (node.target,)
            names = {part.name for part in parts if isinstance(part, ir.Name)}
            self.graphs = self.graphs | names if self._carries(node.value) else self.graphs
        again = [node.target.name for node in made if isinstance(node.target, ir.Name)]
        self.graphs -= {name for name in again if again.count(name) > 1}  # of which one may be without

    def _carries(self, node: ir.Expr) -> bool:
        """Whether a value carries a graph, for certain."""
        if isinstance(node, ir.Name):
            return node.name in self.graphs
        if isinstance(node, ir.Attr):
            return node.name in _OUTPUTS and self._carries(node.owner)
        if isinstance(node, ir.Item):
            return self._carries(node.owner)
        if isinstance(node, ir.Binary):
            return node.op in ("+", "*", "/", "-") and (self._carries(node.left) or self._carries(node.right))
        if not isinstance(node, ir.Call):
            return False
        if spelled(node.func) in self.models and _MODEL(last(node.func)):
            return True
        return _LOSS(last(node.func)) and any(map(self._carries, node.args))

    def totals(self) -> Iterator[tuple[str, ir.Node]]:
        """What is added to in the loop, and not made in it."""
        nodes = (node for node in self.nodes if isinstance(node, ir.Node))
        added = [(node, target) for node in nodes if (target := self._added(node)) is not None]
        totals = {id(node) for node, _ in added}
        bound = {last(node.target) for node in self.nodes if isinstance(node, ir.Assign) and id(node) not in totals}
        for node, target in added:
            if last(target) and last(target) not in bound:
                yield spelled(target), node

    def _added(self, node: object) -> ir.Expr | None:
        """What a statement adds something to that carries a graph."""
        if isinstance(node, ir.Augment):
            return node.target if node.op.rstrip("=") == "+" and self._carries(node.value) else None
        if isinstance(node, ir.Assign) and isinstance(node.value, ir.Binary) and node.value.op == "+":
            before = [part for part in (node.value.left, node.value.right) if spelled(part) == spelled(node.target)]
            return node.target if before and self._carries(node.value) else None
        return self._filled(node.value) if isinstance(node, ir.Do) else None

    def _filled(self, call: ir.Expr) -> ir.Expr | None:
        """The list that a call appends what carries a graph to."""
        if not isinstance(call, ir.Call) or not isinstance(call.func, ir.Attr) or call.func.name != "append":
            return None
        return call.func.owner if any(map(self._carries, call.args)) else None
