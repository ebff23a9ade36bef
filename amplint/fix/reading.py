"""Where the gradients of a step are read, or stepped with again, after it: nothing may erase them before that.

What the model of the program does not hold is found by the text: `.grad`, a function whose name speaks of gradients or
that another file has and that is handed a model, an object that such code has made of one, a step that is handed over.
Whatever runs after a step counts until something goes back, in other functions too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import takewhile

import libcst as cst

from amplint.dialects import vocabulary as words
from amplint.dialects.vocabulary import ending, within
from amplint.fix.code import Code, Statement, every
from amplint.fix.sentences import read
from amplint.fix.stage import Stage
from amplint.fix.watchers import Watchers
from amplint.protocol.events import Kind

_GOES_BACK, _OPTIMIZER = within(words.GOING_BACK), ending(words.OPTIMIZER)
_OF_GRADIENTS, _OF_OTHER_THINGS = within(words.GRADIENTS), within(words.BESIDE_GRADIENTS)
_UNDERSTOOD = frozenset({Kind.BACKWARD, Kind.SCALE, Kind.ZERO_GRAD, Kind.UPDATE, Kind.SCHEDULER_STEP, Kind.AVERAGE})
"""What a call that the model of the program knows as one of these does, and reads no gradients for anybody."""
_ERASING = frozenset({"zero_", "detach_"})
_Home = cst.FunctionDef | cst.Module


def read_later(stage: Stage, anchor: Statement) -> bool:
    """Whether gradients that were erased behind a statement would be missed before others are made."""
    known = (stage.node(one) for one in stage.scene.events if one.kind in _UNDERSTOOD and one.site.path == stage.path)
    understood = [one for one in known if one is not None]
    reads = _Reads(stage.code, anchor, stage.names(anchor).get("optimizer", ""), understood)
    return any(map(reads.are_missed, reads.found()))


@dataclass
class _Reads:
    """The reads of gradients in a file, seen from a statement behind which an optimizer's gradients are erased."""

    code: Code
    anchor: Statement
    optimizer: str
    understood: list[cst.CSTNode]
    seen: set[str] = field(default_factory=set)
    known: dict[_Home, list[cst.CSTNode]] = field(default_factory=dict)

    @cached_property
    def home(self) -> _Home:
        return _home(self.code, self.anchor)

    @cached_property
    def nodes(self) -> list[cst.CSTNode]:
        return list(every(self.code.tree.module))

    @cached_property
    def watchers(self) -> Watchers:
        return Watchers(self.code, self.nodes)

    @cached_property
    def leading(self) -> frozenset[str]:
        """The functions that lead to the statement."""
        return self._all_that_hold({self.home})

    @cached_property
    def going_back(self) -> frozenset[str]:
        return self._all_that_hold({_home(self.code, one) for one in self.nodes if _called(one, _GOES_BACK)})

    def found(self) -> Iterator[cst.CSTNode]:
        return (one for one in self.nodes if self._reads(one) and not _is_of_an_optimizer(self.code, one))

    def are_missed(self, node: cst.CSTNode) -> bool:
        """Whether a read may happen after the statement, before something has gone back."""
        home = _home(self.code, node)
        if home is self.home:
            return self._follows(node)
        start = self._at(node)
        if any(self._at(one) < start for one in self._backs(home)):
            return False
        if isinstance(home, cst.Module) or any(self._at(one) < start for one in self._mentions(self.leading, home)):
            return True
        if home.name.value in self.seen:
            return False
        self.seen.add(home.name.value)
        mentions = list(self._mentions(frozenset({home.name.value}), self.code.tree.module))
        return not mentions or any(map(self.are_missed, mentions))

    def _follows(self, node: cst.CSTNode) -> bool:
        """Whether a read of the same function follows before a backward of it, the loop running on."""
        loops = [one for one in self.code.above(self.anchor) if isinstance(one, cst.For | cst.While)]
        loops = [one for one in loops if _home(self.code, one) is self.home]
        end = self.code.span(loops[-1])[1] if loops else 0
        here, there = self._turn(self.anchor, loops), self._turn(node, loops)
        if there < here or self.code.inside(node, self.anchor):
            return False
        if self._at(node) >= end:
            here = (0, end) if loops else here
        return not any(here < self._turn(one, loops) < there for one in self._backs(self.home))

    def _turn(self, node: cst.CSTNode, loops: Sequence[cst.CSTNode]) -> tuple[int, int]:
        """When a node runs after the statement: in this turn of the loop and behind it, or in the next one."""
        start, here = self._at(node), self._at(self.anchor)
        inside = bool(loops) and self.code.inside(node, loops[-1])
        again = inside and node is not self.anchor and (start < here or self.code.exclude(node, self.anchor))
        return int(again), start

    def _backs(self, home: _Home) -> list[cst.CSTNode]:
        """What goes back in a function; not what leads to the statement."""
        if home not in self.known:
            going = self.going_back - self.leading
            calls = [one for one in every(home) if _called(one, lambda name: name in going or _GOES_BACK(name))]
            self.known[home] = [one for one in calls if _home(self.code, one) is home]
        return self.known[home]

    def _mentions(self, names: frozenset[str], home: _Home) -> Iterator[cst.CSTNode]:
        """Where functions are called or handed on, in another function or in the whole module."""
        for one in every(home):
            above = self.code.parents.get(one)
            if isinstance(one, cst.Name) and one.value in names and not isinstance(above, cst.FunctionDef | cst.Param):
                inner = _home(self.code, one)
                if not (isinstance(inner, cst.FunctionDef) and inner.name.value == one.value):
                    yield one

    def _all_that_hold(self, homes: set[_Home]) -> frozenset[str]:
        """The names of some functions and of those that mention them, over and over."""
        names: frozenset[str] = frozenset()
        found = frozenset(one.name.value for one in homes if isinstance(one, cst.FunctionDef))
        while found - names:
            names |= found
            homes = {_home(self.code, one) for one in self._mentions(found, self.code.tree.module)}
            found = frozenset(one.name.value for one in homes if isinstance(one, cst.FunctionDef))
        return names

    def _reads(self, node: cst.CSTNode) -> bool:
        if isinstance(node, cst.Attribute) and node.attr.value == "grad":
            return _is_looked_at(self.code, node)
        if isinstance(node, cst.Attribute) and node.attr.value == "step" and self.optimizer:
            return self.code.source(node.value) == self.optimizer and not self.code.inside(node, self.anchor)
        if isinstance(node, cst.SimpleString):
            return node.evaluated_value == "grad" and not _only_asks(self.code, node)
        if isinstance(node, cst.Call):
            name = _last(node.func)
            stepped = read(Kind.SCALER_STEP, node).get("optimizer")
            of_gradients = _OF_GRADIENTS(name) and not _OF_OTHER_THINGS(name) and name != "grad"  # `autograd.grad`
            return of_gradients or bool(stepped and stepped == self.optimizer) or self._may_look(node)
        return False

    def _may_look(self, call: cst.Call) -> bool:
        """Whether code of another file has a model, and does not say that all it does is to run or to keep it."""
        known = _GOES_BACK(_last(call.func)) or any(call is one for one in self.understood)
        return not known and self.watchers.may_look(call)

    def _at(self, node: cst.CSTNode) -> int:
        return self.code.span(node)[0]


def _home(code: Code, node: cst.CSTNode) -> _Home:
    """The function that a node stands in, nameless ones aside; of a function, the one around it."""
    found = next((one for one in code.above(node) if isinstance(one, cst.FunctionDef)), None)
    return found if found is not None else code.tree.module


def _last(node: cst.CSTNode) -> str:
    node = node.attr if isinstance(node, cst.Attribute) else node
    return node.value if isinstance(node, cst.Name) else ""


def _called(node: cst.CSTNode, asked: Callable[[str], bool]) -> bool:
    return isinstance(node, cst.Call) and asked(_last(node.func))


def _is_looked_at(code: Code, node: cst.Attribute) -> bool:
    """Whether a gradient is read: neither set, thrown away or zeroed, nor only asked for, nor a function's name."""
    above: cst.CSTNode = code.parents[node]
    if isinstance(above, cst.AssignTarget | cst.Del) or (isinstance(above, cst.Call) and above.func is node):
        return False
    if isinstance(above, cst.Comparison) and any(_last(one.comparator) == "None" for one in above.comparisons):
        return isinstance(code.statement(node), cst.Assert)
    chain = [above, *takewhile(lambda one: isinstance(one, cst.Attribute), code.above(above))]
    return not any(isinstance(one, cst.Attribute) and one.attr.value in _ERASING for one in chain)


def _only_asks(code: Code, name: cst.SimpleString) -> bool:
    """Whether the name of an attribute is given to who asks whether there is one, sets it or deletes it."""
    call = code.parents[code.parents[name]]
    return isinstance(call, cst.Call) and _last(call.func) in ("hasattr", "setattr", "delattr")


def _is_of_an_optimizer(code: Code, node: cst.CSTNode) -> bool:
    """Whether code is part of an optimizer of the user's own, which reads gradients when it steps."""
    classes = (one for one in code.above(node) if isinstance(one, cst.ClassDef))
    return any(_OPTIMIZER(_last(base.value)) for one in classes for base in one.bases)
