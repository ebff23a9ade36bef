"""What code of other files has made from a model, its parameters or an optimizer: a call of it may look at gradients.

A probe, a monitor, a function with the model bound in it. What is called like a part of the training itself (a model,
an optimizer, a schedule, a loss, an average of the weights) is none, nor is what only runs the model.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

import libcst as cst

from amplint.dialects import vocabulary as words
from amplint.dialects.unseen import only_runs
from amplint.dialects.vocabulary import ending, within
from amplint.fix.code import Code, every
from amplint.fix.stage import bound

_MODEL, _OPTIMIZER = ending(words.MODEL), ending(words.OPTIMIZER)
_OF_TRAINING = ending(
    words.MODEL, words.OPTIMIZER, words.OPTIMIZER_CLASS, words.SCALER, words.LOSS, words.CRITERION_ITSELF
)
_OF_RATE, _CREATES = within(words.RATE, words.SCHEDULER), within(words.CREATING)
_KEEPS = within(words.SAVING, words.RESTORING, words.AVERAGE)
_PARTS = frozenset({"parameters", "named_parameters", "modules", "named_modules", "children", "named_children"})
"""The methods of `torch.nn.Module` that give what has gradients (torch/nn/modules/module.py)."""
_COLLECTS = frozenset({"list", "tuple", "set", "dict", "iter", "filter"})


@dataclass
class Watchers:
    """What a file holds that may look at gradients when it is called."""

    code: Code
    nodes: list[cst.CSTNode]
    held: dict[str, list[cst.CSTNode]] = field(init=False, default_factory=dict)

    def __post_init__(self) -> None:
        """Finds the names that hold such an object, and where they mean it."""
        bound_to = [(bound(target), value) for one in self.nodes for target, value in bindings(one)]
        found = -1
        while found < (found := sum(map(len, self.held.values()))):
            for targets, value in bound_to:
                if self._is_made(value):
                    self._hold(targets)

    def may_look(self, call: cst.Call) -> bool:
        """Whether a call is of such an object, or of another file's code that is handed a model or one."""
        source = self.code.source(call.func)
        if _KEEPS(source) or _OF_RATE(source):
            return False
        given = any(_is_given(arg.value, _MODEL) or self._is_held(arg.value) for arg in call.args)
        return self._is_held(call.func) or (given and self._is_unseen(call) and not only_runs(source))

    @cached_property
    def _imported(self) -> frozenset[str]:
        """The names that imports bind to modules and functions of other files, those of torch aside."""
        names: set[str] = set()
        for one in self.nodes:
            if not isinstance(one, cst.Import | cst.ImportFrom) or isinstance(one.names, cst.ImportStar):
                continue
            module = self.code.source(one).split()[1] if isinstance(one, cst.ImportFrom) else ""
            for alias in one.names:
                name = alias.evaluated_name
                if (module or name).partition(".")[0] != "torch":
                    names.add(alias.evaluated_alias or name.partition(".")[0])
        return frozenset(names)

    # --- what holds one ----------------------------------------------------------------------------------------------

    @cached_property
    def _makers(self) -> frozenset[cst.CSTNode]:
        """The calls of other files' code that are given a model, parameters or an optimizer, and give an object."""
        calls = (one for one in self.nodes if isinstance(one, cst.Call) and self._is_unseen(one))
        return frozenset(one for one in calls if self._makes(one))

    def _makes(self, call: cst.Call) -> bool:
        source = self.code.source(call.func)
        if _KEEPS(source) or _OF_RATE(source) or _OF_TRAINING(source) or (only_runs(source) and not _CREATES(source)):
            return False
        return any(_is_given(arg.value, _MODEL) or _is_given(arg.value, _OPTIMIZER) for arg in call.args)

    def _is_unseen(self, call: cst.Call) -> bool:
        return self.code.source(call.func).partition(".")[0] in self._imported

    def _is_made(self, value: cst.CSTNode) -> bool:
        """Whether a value is made so, or is what a name holds already; a step of an optimizer under a name is one."""
        if any(one in self._makers for one in every(value)):
            return True
        if isinstance(value, cst.Attribute) and value.attr.value == "step":
            return _OPTIMIZER(_last(value.value))
        return any(map(self._is_held, _outside_calls(value)))

    def _hold(self, targets: Iterable[cst.CSTNode]) -> None:
        for target in targets:
            name = _last(target)
            if name and not (_OF_TRAINING(name) or _KEEPS(name) or _OF_RATE(name)):
                scope = self.code.function(target) if isinstance(target, cst.Name) else self.code.tree.module
                known = self.held.setdefault(name, [])
                known += [scope] if scope not in known else []

    def _is_held(self, node: cst.CSTNode) -> bool:
        """Whether a part of a dotted name holds one where it stands."""
        while isinstance(node, cst.Attribute | cst.Subscript | cst.Name):
            scopes = self.held.get(_last(node), ())
            if any(self.code.inside(node, scope) for scope in scopes):
                return True
            if isinstance(node, cst.Name):
                return False
            node = node.value
        return False


def bindings(node: cst.CSTNode) -> Iterator[tuple[cst.CSTNode, cst.CSTNode]]:
    """What a statement binds, and to what; of a loop, to what it takes from."""
    if isinstance(node, cst.Assign):
        yield from ((one.target, node.value) for one in node.targets)
    elif isinstance(node, cst.AnnAssign | cst.NamedExpr) and node.value is not None:
        yield node.target, node.value
    elif isinstance(node, cst.WithItem) and node.asname is not None:
        yield node.asname.name, node.item
    elif isinstance(node, cst.For):
        over = node.iter
        taken = over.func.value if isinstance(over, cst.Call) and isinstance(over.func, cst.Attribute) else over
        yield node.target, taken


def _outside_calls(node: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """A node and what stands in it, in no call of another thing; what a collection is made of counts."""
    if isinstance(node, cst.Call) and _last(node.func) not in {*_PARTS, *_COLLECTS}:
        return
    yield node
    for child in () if isinstance(node, cst.Attribute) else node.children:
        yield from _outside_calls(child)


def _is_given(node: cst.CSTNode, asked: Callable[[str], bool]) -> bool:
    """Whether an argument is something of a kind, what a module consists of, or a collection of either."""
    for one in _outside_calls(node):
        called = isinstance(one, cst.Call) and isinstance(one.func, cst.Attribute) and one.func.attr.value in _PARTS
        if called or (isinstance(one, cst.Name | cst.Attribute) and asked(_last(one))):
            return True
    return False


def _last(node: cst.CSTNode) -> str:
    node = node.attr if isinstance(node, cst.Attribute) else node
    return node.value if isinstance(node, cst.Name) else ""
