"""The events of a scene in the text: the statements that they are, where others can stand next to them, and names."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import takewhile

import libcst as cst

from amplint.dialects import vocabulary as words
from amplint.dialects.torch import TORCH
from amplint.dialects.vocabulary import ending
from amplint.fix.code import Code, Statement, every
from amplint.fix.sentences import Names, read
from amplint.protocol.events import Event, Kind, Site
from amplint.protocol.scene import Scene, around

_LOOPS = (cst.For, cst.While)
_HANDED = {"scaler": ending(words.SCALER)}
"""What a parameter is by its name alone: that of a scaler is clear, where optimizers are of many kinds."""


@dataclass(frozen=True)
class Stage:
    """A text, the file that it is, and what happens around a finding, which stands at `site`.

    `others`: where the same rule speaks too. `runs`: what happens in the program, whatever its settings.
    """

    code: Code
    path: str
    scene: Scene
    site: Site
    others: tuple[Site, ...] = ()
    runs: Callable[[], Sequence[Sequence[Event]]] = tuple

    def event(self, kinds: tuple[Kind, ...] | Kind) -> Event | None:
        """The event of the first of the kinds that happens in this file: the finding's own, else the nearest."""
        for kind in kinds if isinstance(kinds, tuple) else (kinds,):
            found = self.scene.nearest(kind, self.path, self.site)
            if found is not None:
                return found
        return None

    def elsewhere(self, what: Kind, kinds: tuple[Kind, ...]) -> list[Event]:
        """The events of the first of some kinds that are next to one of the scene in the other runs, where it happens
        there; other calls than those that happen in this one."""
        mine = self.event(what)
        here = {one.step_of_program for one in self.scene.events}
        found = (self._next_to(run, mine, kinds) for run in self.runs()) if mine is not None else ()
        return [near for near in found if near is not None and near.step_of_program not in here]

    def _next_to(self, run: Sequence[Event], mine: Event, kinds: tuple[Kind, ...]) -> Event | None:
        at = next((at for at, one in enumerate(run) if one.kind is mine.kind and one.site == mine.site), None)
        if at is None:
            return None
        near = Scene(tuple(around(run, at, mine.optimizer, mine.scheduler)))
        return next(filter(None, (near.nearest(kind, self.path) for kind in kinds)), None)

    def branching(self, events: Sequence[Event], statements: Sequence[Statement]) -> Statement | None:
        """The innermost `if` that holds several statements in its branches, if it is not the gate of one of them."""
        for above in self.code.above(statements[0]):
            if isinstance(above, _LOOPS) or any(self.is_gate(above, event) for event in events):
                return None
            outer = self.code.statement(above) if isinstance(above, cst.If) else None
            if outer is not None and all(self.code.inside(one, outer) for one in statements):
                gated = (one for statement in statements for one in takewhile(outer.__ne__, self.code.above(statement)))
                return None if any(self.is_gate(one, event) for one in gated for event in events) else outer
        return None

    def node(self, event: Event) -> cst.CSTNode | None:
        """The call that an event is."""
        return self.code.at(event.site)

    def statement(self, kind: Kind) -> Statement | None:
        """The statement that is an event and nothing else, or assigns what its call returns."""
        event = self.event(kind)
        node = self.node(event) if event is not None else None
        found = self.code.statement(node) if node is not None else None
        if node is None or (kind in TORCH.sentences and not read(kind, node)):
            return None
        if found is node or (isinstance(found, cst.Expr | cst.Assign | cst.AugAssign) and found.value is node):
            return found
        return None

    def scaled(
        self, near: cst.CSTNode, kinds: tuple[Kind, ...] = (Kind.SCALER_STEP, Kind.BACKWARD)
    ) -> tuple[Event, cst.CSTNode] | None:
        """The step, else the backward, that is said to a scaler in the function of a node: another call than that."""
        for event in map(self.event, kinds):
            node = self.node(event) if event is not None else None
            if event is None or node is None or node is near or "scaler" not in read(event.kind, node):
                continue
            if self.code.function(node) is self.code.function(near):
                return event, node
        return None

    def names(self, near: cst.CSTNode) -> Names:
        """What the scaler, the optimizer and the scheduler are called where a node stands, as far as that is known."""
        function = self.code.function(near)
        names: Names = {}
        for event in self.scene.events:
            node = self.node(event) if event.site.path == self.path else None
            if node is None or event.kind is Kind.ZERO_GRAD or self.code.function(node) is not function:
                continue  # models are zeroed too
            for role, name in read(event.kind, node).items():
                if role not in names and role != "loss" and self._is_known(name, node, near):
                    names[role] = name
        return {**self._handed(function), **names}

    def _handed(self, function: cst.CSTNode) -> Names:
        """What a function is handed, by the roles that the names of its parameters tell, if no two tell the same."""
        params = every(function.params) if isinstance(function, cst.FunctionDef) else ()
        given = [one.name.value for one in params if isinstance(one, cst.Param)]
        found = {role: [name for name in given if says(name)] for role, says in _HANDED.items()}
        return {role: names[0] for role, names in found.items() if len(names) == 1}

    def _is_known(self, name: str, node: cst.CSTNode, near: cst.CSTNode) -> bool:
        """Whether a name that is used at one node means the same at another: no loop between them sets it."""
        if "(" in name or "\n" in name:
            return False
        used = {word.value for word in _words(cst.parse_expression(name))}
        for above in self.code.above(node):
            if isinstance(above, cst.For | cst.CompFor) and all(one is not above for one in self.code.above(near)):
                if used & {word.value for word in _words(above.target)}:
                    return False
        return True

    # --- where things can stand --------------------------------------------------------------------------------------

    def anchor(self, event: Event, shared: list[cst.CSTNode], twins: bool = True) -> Statement | None:
        """The statement next to which something can be written that has to happen next to an event.

        It is taken out of loops that do not hold what is `shared` (one clip for each parameter is one clip), and, of
        `twins` for several precisions, out of an `if` that is not the gate of the window and does not hold it either.
        """
        node = self.node(event)
        best = self.code.statement(node) if node is not None else None
        if best is None:
            return None
        function, gated = self.code.function(best), False
        for above in self.code.above(best):
            if above is function or any(self.code.inside(one, above) for one in shared):
                break
            gated = gated or self.is_gate(above, event)
            left = isinstance(above, _LOOPS) or (twins and not gated and isinstance(above, cst.If | cst.Try))
            if left and (outer := self.code.statement(above)) is not None:
                best = outer
        return best

    def condition(self, event: Event, node: cst.CSTNode | None, anchor: cst.CSTNode, gated: bool = True) -> str | None:
        """The condition under which a node runs, seen from a statement; "" for none, None if it is the event's gate.

        Not `gated`: what happens on every micro-step is asked for, and the gate is no condition of it.
        """
        parts: list[str] = []
        inner = node
        for above in self.code.above(node) if node is not None else ():
            if self.code.inside(anchor, above):
                break
            if self.is_gate(above, event) or self.counts(above):
                if gated:
                    return None
            elif isinstance(above, cst.If) and inner is not above.test:
                parts.append(self._taken(above, negated=inner is above.orelse))
            inner = above
        if len(parts) == 1 and (bare := _unwrapped(parts[0])) is not None:
            return bare
        return " and ".join(reversed(parts))

    def says_the_same(self, event: Event, node: cst.CSTNode, anchor: cst.CSTNode) -> bool:
        """Whether the conditions under which a node runs, its gate aside, say the same where a statement stands."""
        around = takewhile(lambda above: not self.code.inside(anchor, above), self.code.above(node))
        tests = (one for one in around if isinstance(one, cst.If) and not self.is_gate(one, event))
        return not any(self._is_set_between(one, anchor) for one in tests)

    def _is_set_between(self, node: cst.If, anchor: cst.CSTNode) -> bool:
        """Whether something that a test reads is set between it and a statement, so that it says something else there,
        or nothing."""
        read = {self.code.source(one) for one in every(node.test) if isinstance(one, cst.Name | cst.Attribute)}
        start, end = sorted((self.code.span(node)[0], self.code.span(anchor)[0]))
        for one in every(self.code.function(anchor)):
            if isinstance(one, cst.AssignTarget | cst.AugAssign | cst.AnnAssign | cst.NamedExpr | cst.For):
                at = self.code.span(one)[0]
                if start <= at < end and not read.isdisjoint(map(self.code.source, bound(one.target))):
                    return True
        return False

    def _taken(self, node: cst.If, negated: bool) -> str:
        """The condition of a branch as part of a longer one."""
        test, source = node.test, self.code.source(node.test)
        if test.lpar and not negated:
            return f"({source})"
        if negated and isinstance(test, cst.UnaryOperation) and isinstance(test.operator, cst.Not):
            return self.code.source(test.expression)
        simple = isinstance(test, cst.Name | cst.Attribute | cst.Call | cst.Comparison)
        if negated:
            return f"not {source}" if simple and not isinstance(test, cst.Comparison) else f"not ({source})"
        return source if simple else f"({source})"

    def counts(self, node: cst.CSTNode) -> bool:
        """Whether an `if` asks for a place in a window: for the remainder of something by a window's length."""
        lengths = {event.gate.length.split(".")[-1] for event in self.scene.events if event.gate and event.gate.length}
        return isinstance(node, cst.If) and any(
            self.code.source(one.right).split(".")[-1] in lengths for one in remainders(node.test)
        )

    def is_gate(self, node: cst.CSTNode, event: Event) -> bool:
        """Whether a statement is the gate of an event's window."""
        gate = event.gate.site if event.gate is not None else None
        if gate is None or gate.path != self.path or not isinstance(node, (cst.If, *_LOOPS)):
            return False
        test = self.code.at(gate)
        head = node.test if isinstance(node, cst.If | cst.While) else node.iter
        return test is not None and (test is node or self.code.inside(test, head))


def _unwrapped(part: str) -> str | None:
    """A condition without the parentheses around all of it; None if it has none, or needs them to span lines."""
    tree = cst.parse_expression(part)
    if "\n" in part or len(tree.lpar) != 1 or not part.startswith("("):
        return None
    return part[1:-1].strip()


def remainders(node: cst.CSTNode) -> Iterator[cst.BinaryOperation]:
    """Every `a % b` in a node."""
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Modulo):
        yield node
    for child in node.children:
        yield from remainders(child)


def bound(target: cst.CSTNode) -> list[cst.CSTNode]:
    """What an assignment to a target sets: it, or its parts."""
    parts = target.elements if isinstance(target, cst.Tuple | cst.List) else ()
    return [one for part in parts for one in bound(part.value)] or [target]


def _words(node: cst.CSTNode) -> list[cst.Name]:
    """The names in an expression, those of attributes aside."""
    if isinstance(node, cst.Name):
        return [node]
    if isinstance(node, cst.Attribute):
        return _words(node.value)
    return [word for child in node.children for word in _words(child)]
