"""Which statements of a module can matter to the training step.

Backwards slicing by name over the whole module, insensitive to flow: a statement stays if it may be an event, if it
binds a name that something relevant reads, or if it holds such a statement. It only makes the program smaller; a name
that is kept without need costs time, not truth.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Set
from dataclasses import dataclass
from types import MappingProxyType

from amplint.dialects import vocabulary as words
from amplint.dialects.public import COLLECTING
from amplint.dialects.unseen import only_reads, only_runs
from amplint.dialects.vocabulary import within
from amplint.flow import program as ir
from amplint.lower.bars import moved
from amplint.lower.deeds import Deeds
from amplint.lower.dtypes import Dtypes
from amplint.lower.keepers import appended, written_out
from amplint.lower.names import binds, last, matters, reaches, reads, suites, walk
from amplint.lower.own_schedules import nameless, own_schedules
from amplint.lower.stores import asked as asked_of
from amplint.lower.stores import other_names, set_by_name, sets_outside, stored_in, touched
from amplint.lower.usage import Usage, acts

_MUTATORS = frozenset(
    """append extend add insert clear setdefault add_param_group div_ mul_ div pop popleft popitem remove discard update
    subtract __setitem__ __delitem__ zero_ fill_ add_ sub_""".split()
)
_CONTAINERS = frozenset(
    "dict list set deque defaultdict Counter OrderedDict SimpleNamespace Namespace create EasyDict Munch Box".split()
)
_LOSS = within(words.LOSS, "cross_entropy ce mse bce kl")
_COMPOUND = (ir.If, ir.For, ir.While, ir.With, ir.Try)
_HEADS = {ir.If: "test", ir.While: "test", ir.For: "source", ir.With: "context"}


@dataclass(frozen=True)
class Line:
    """One simple statement, or the head of a compound one, with what decides whether it stays.

    `owners`: of a method that gives a loss, the classes whose objects have it; `calls`: what it reaches; `outside`: it
    changes what others than its function may see.
    """

    node: ir.Stmt
    reads: frozenset[str]
    binds: frozenset[str]
    acts: bool
    function: str
    loop: int
    parents: tuple[int, ...]
    owners: frozenset[str] = frozenset()
    calls: frozenset[str] = frozenset()
    outside: bool = False


class Relevance:
    """The statements that stay, by identity, and the names that they read."""

    def __init__(
        self,
        body: tuple[ir.Stmt, ...],
        usage: Usage,
        deeds: Deeds,
        words: Set[str] = frozenset(),
        asked: Set[str] = frozenset(),
        giving: Mapping[int, frozenset[str]] = MappingProxyType({}),
    ) -> None:
        self.usage, self.deeds, self.giving = usage, deeds, giving
        self._owners: frozenset[str] = frozenset()
        self._outside: frozenset[str] = frozenset()
        self._schedules, self._in_schedule = own_schedules(body), False
        self.kept: set[int] = set()
        self._setting: set[str] = set()
        self._choosing: set[str] = set()
        self.wanted: set[str] = {name.lstrip(".") for name in deeds.acting} | asked | self._schedules.asked
        self.wanted |= usage.scheduled
        self._known = _defined(body) | words
        self._going_back = {name.lstrip(".") for name in deeds.going_back} | {""}
        self._whole = several_models(usage) or "grad" in usage.methods.get("autograd", ())
        self._holders = _holders(body, usage.losses)
        self._flags, self._dtypes = _flags(body), Dtypes(body)
        self._containers, self._bars = _containers(body), moved(body)
        self._asked, self._others = asked_of(body), other_names(body)
        self._lines: list[Line] = []
        self._heads: dict[int, frozenset[str]] = {}
        self._collect(body, "", 0, ())
        self._settle()

    def _collect(self, nodes: Iterable[ir.Stmt], function: str, loop: int, parents: tuple[int, ...]) -> None:
        for node in nodes:
            if isinstance(node, ir.Function):
                before = self._owners, self._in_schedule, self._outside
                self._owners, self._outside = self.giving.get(id(node), frozenset()), sets_outside(node)
                self._in_schedule = self._in_schedule or id(node) in self._schedules.bodies
                self.wanted |= {last(param.default) for param in node.params if isinstance(param.default, ir.Name)}
                self._collect(node.body, node.name, 0, ())
                self._owners, self._in_schedule, self._outside = before
            elif isinstance(node, ir.Class):
                self._collect(node.body, "", 0, ())
            elif isinstance(node, _COMPOUND):
                self._collect_compound(node, function, loop, parents)
            else:
                self._lines.append(self._line(node, function, loop, parents))
                if isinstance(node, ir.Return) and function == "forward" and (names := _losses_of(node)):
                    self._lines.append(Line(node, names, frozenset(), True, function, loop, parents))

    def _collect_compound(
        self, node: ir.If | ir.For | ir.While | ir.With | ir.Try, function: str, loop: int, parents: tuple[int, ...]
    ) -> None:
        head = getattr(node, _HEADS[type(node)]) if type(node) in _HEADS else None
        names = matters(head, self._known, self._whole) if head else set()
        if isinstance(node, ir.For):
            names |= reads(node.target)
        self._heads[id(node)] = frozenset(names)
        if head is not None and (acts(head, self.usage) or reaches(head, self.usage.driven) & self.deeds.acting):
            self._lines.append(Line(node, frozenset(names), frozenset(), True, function, loop, (*parents, id(node))))
        if isinstance(node, ir.If) and _guards_the_window(node):
            self._lines.append(Line(node, frozenset(names), frozenset(), True, function, loop, (*parents, id(node))))
        inner = id(node) if isinstance(node, (ir.For, ir.While)) else loop
        self._collect(suites(node), function, inner, (*parents, id(node)))

    def _bound(self, node: ir.Stmt) -> set[str]:
        """The names that a statement binds, or of which it may change what they stand for."""
        bound: set[str] = set()
        if isinstance(node, (ir.Assign, ir.Augment)):
            bound = binds(node.target)
            if isinstance(node.target, ir.Attr):
                bound = bound | ({last(node.target.owner)} & self._containers)  # which may be asked for it by a key
            bound = bound | stored_in(node.target, self._others) | (touched(node.value) & self._asked)
        elif isinstance(node, ir.Do):
            bound = _mutated(node.value) | (_handed(node) & self._containers) | (touched(node) & self._asked)
        if isinstance(node, ir.Assign) and self._copies(node.value):
            bound |= self.usage.losses
        if isinstance(node, ir.Assign) and isinstance(node.target, ir.Item):
            bound |= {last(node.value)} & self.usage.losses  # a total may grow by what it is put into
        if isinstance(node, (ir.Assign, ir.Augment)):
            bound |= self._grows_by(node)
        bound |= {part.name for part in walk(node) if isinstance(part, ir.Walrus)}
        return bound

    def _line(self, node: ir.Stmt, function: str, loop: int, parents: tuple[int, ...]) -> Line:
        bound = self._bound(node)
        called = frozenset(reaches(node, self.usage.driven))
        doing = (
            acts(node, self.usage)
            or bool(called & self.deeds.acting)
            or self._runs(node, function)
            or id(node) in self._schedules.makes
            or self._gathers(node)
            or self._of_a_base(node)
            or self._dtypes.cast_in(node)
            or self._dtypes.may_change(node)
            or id(node) in self._bars | self.deeds.keeping
            or _tells(node)
        )
        read = (
            reads(node)
            if isinstance(node, ir.Global)
            else matters(node, self._known, self._whole) | self._clipped(node)
        )
        if doing:
            read |= _handed(node) & (self._flags | self._dtypes.names | self.usage.holding)
        read |= self._dtypes.optimized_in(node)
        if self.usage.gradients:
            read |= reads(node) & self.usage.gradients
        whole = self._in_schedule or id(node) in self._schedules.makes
        whole = whole or (isinstance(node, ir.Assign) and last(node.target) in self._schedules.names)
        read |= reads(node) if whole else nameless(node) | appended(node)
        outside = isinstance(node, ir.Do) and bool(bound)
        outside = outside or _sets_elsewhere(node) or not self._outside.isdisjoint(bound)
        return Line(
            node, frozenset(read), frozenset(bound), doing, function, loop, parents, self._owners, called, outside
        )

    def _runs(self, node: ir.Stmt, function: str) -> bool:
        """Whether a wrapped model may run here, in a function that back-propagates: that says what is reduced."""
        if not self.usage.wrapped or function not in self._going_back:
            return False
        calls = (part for part in walk(node) if isinstance(part, ir.Call))
        return any({last(call.func), *map(last, call.args)} & self.usage.wrapped for call in calls)

    def _clipped(self, node: ir.Stmt) -> set[str]:
        """The names of what is handed to a clip: an iterator of parameters, perhaps, that was made before, and the
        threshold, which a scale may be in, or the number of the micro-step."""
        made = [part for part in walk(node) if isinstance(part, ir.Call) and last(part.func) in self.usage.clips]
        handed = [value for call in made for value in (*call.args, *(value for _, value in call.keywords))]
        limits = {name for call in made for value in _after_the_first(call) for name in reads(value)}
        return ({last(value) for value in handed} | limits) - {""}

    def _gathers(self, node: ir.Stmt) -> bool:
        """Whether a loss that is back-propagated is put into a list, which perhaps keeps its graph."""
        call = node.value if isinstance(node, ir.Do) else None
        appends = isinstance(call, ir.Call) and last(call.func) == "append" and len(call.args) == 1
        held = written_out(call.args[0]) if isinstance(call, ir.Call) and appends else ()
        return any(last(one) in self.usage.losses for one in held)

    def _of_a_base(self, node: ir.Stmt) -> bool:
        """Whether a method is called that none of the module's classes has: of a base that perhaps nobody sees."""
        method = node.value.func if isinstance(node, ir.Do) and isinstance(node.value, ir.Call) else None
        owner = method.owner if isinstance(method, ir.Attr) else None
        own = last(owner) == "self" or (isinstance(owner, ir.Call) and last(owner.func) == "super")
        return own and last(method) not in self._known and not (only_reads(last(method)) or only_runs(last(method)))

    def _copies(self, value: ir.Expr) -> bool:
        """Whether a value is a loss divided: a copy that perhaps is not the one that is back-propagated."""
        return isinstance(value, ir.Binary) and value.op == "/" and last(value.left) in self.usage.losses

    def _grows_by(self, node: ir.Assign | ir.Augment) -> set[str]:
        """The losses that a name grows by: if they matter, so does the total that perhaps keeps their graphs."""
        names = {last(part) for part in _operands(node.value)} - {""}
        held = reads(node.value) & self._holders
        grown = isinstance(node, ir.Augment) or binds(node.target) <= reads(node.value)
        held = held if held and grown else set()
        if not isinstance(node, ir.Augment) and not names & binds(node.target):
            return held
        return held | {name for name in names if name in self.usage.losses or "loss" in name.lower()}

    def _settle(self) -> None:
        """Keeps lines until nothing that is kept reads a name that is not wanted."""
        rest = self._lines
        while True:
            left = [line for line in rest if not self._keep(line)]
            if len(left) == len(rest):
                return
            rest = left

    def _keep(self, line: Line) -> bool:
        if not self._stays(line):
            return False
        self.kept.add(id(line.node))
        self.wanted |= line.reads
        if line.function and line.outside:
            self._setting |= {line.function, f".{line.function}"}
        if isinstance(line.node, ir.Return) and line.parents:
            self._choosing.add(line.function)
        for parent in line.parents:
            if parent not in self.kept:
                self.kept.add(parent)
                self.wanted |= self._heads[parent]
        return True

    def _stays(self, line: Line) -> bool:
        node = line.node
        if line.acts or isinstance(node, (ir.Import, ir.Global)):
            return True
        if isinstance(node, ir.Return) or any(isinstance(part, ir.Yield) for part in walk(node)):
            return line.function in self.wanted or not line.owners.isdisjoint(self.wanted)
        if isinstance(node, ir.Leave):
            return self._leaves(node, line)
        if isinstance(node, ir.Assert):
            return any(isinstance(part, ir.Binary) and part.op == "%" for part in walk(node))
        return not line.binds.isdisjoint(self.wanted) or not line.calls.isdisjoint(self._setting)

    def _leaves(self, node: ir.Leave, line: Line) -> bool:
        """A jump matters inside a loop that matters; a `raise` only guards, and matters where it is reached anyway, or
        where a function comes to it if none of its branches has returned something that matters."""
        if node.how == "raise":
            return line.parents[-1] in self.kept if line.parents else line.function in self._choosing
        return line.loop in self.kept


def _after_the_first(call: ir.Call) -> list[ir.Expr]:
    """What a clip is given besides the gradients."""
    return [*call.args[1:], *(value for _, value in call.keywords)]


_OF_WINDOW = within(words.WINDOW)


def _tells(node: ir.Stmt) -> bool:
    """Whether an object, or a rate, is told the length of the window, or a number that is computed of it."""
    if isinstance(node, ir.Do) and isinstance(node.value, ir.Call):
        call = node.value
        given = (*call.args, *(value for _, value in call.keywords)) if isinstance(call.func, ir.Attr) else ()
    else:
        kept = isinstance(node, ir.Assign) and isinstance(node.target, ir.Attr | ir.Item)
        shared = isinstance(node, ir.Augment) and node.op in ("/=", "*=") and not isinstance(node.target, ir.Name)
        given = (node.value,) if isinstance(node, ir.Assign | ir.Augment) and (kept or shared) else ()
    return any(_OF_WINDOW(name) for value in given for name in reads(value))


def _operands(value: ir.Expr) -> list[ir.Expr]:
    """What a value is computed from by operators alone."""
    if not isinstance(value, ir.Binary):
        return [value]
    return [*_operands(value.left), *_operands(value.right)]


def _sets_elsewhere(node: ir.Stmt) -> bool:
    """Whether a statement changes what others than its function may see: an attribute, or an element."""
    target = node.target if isinstance(node, ir.Assign | ir.Augment) else None
    return isinstance(target, ir.Attr | ir.Item)


def several_models(usage: Usage) -> bool:
    """Whether there are several optimizers, so that a loss may go through the model of one on its way to another's."""
    return sum(usage.is_optimizer(name) for name in usage.methods) > 1


def _losses_of(node: ir.Return) -> frozenset[str]:
    """The names of the losses that a model hands out, those of the functions that make them included."""
    made = {last(part.func) for part in walk(node) if isinstance(part, ir.Call)}
    return frozenset(name for name in reads(node) | made if _LOSS(name))


def _guards_the_window(node: ir.If) -> bool:
    """Whether an `if` does nothing but refuse a remainder: `if len(loader) % N: raise`."""
    only = node.body[0] if len(node.body) == 1 else None
    raises = isinstance(only, ir.Leave) and only.how == "raise"
    return raises and any(isinstance(part, ir.Binary) and part.op == "%" for part in walk(node.test))


def _holders(body: tuple[ir.Stmt, ...], losses: frozenset[str]) -> frozenset[str]:
    """The names of what losses are put into by a key."""
    made = (node for statement in body for node in walk(statement) if isinstance(node, ir.Assign))
    return frozenset(
        last(node.target.owner) for node in made if isinstance(node.target, ir.Item) and last(node.value) in losses
    ) - {""}


def _handed(node: ir.Stmt) -> set[str]:
    """The names of what the calls of a statement are given: by a flag a step may be told when."""
    made = (part for part in walk(node) if isinstance(part, ir.Call))
    return {last(one) for call in made for one in (*call.args, *call.starred, *(value for _, value in call.keywords))}


def _containers(body: tuple[ir.Stmt, ...]) -> frozenset[str]:
    """The names of containers: whoever is handed one may change it."""
    made = (node for statement in body for node in walk(statement) if isinstance(node, ir.Assign))
    return frozenset(last(node.target) for node in made if _is_container(node.value)) - {""}


def _is_container(node: ir.Expr) -> bool:
    if isinstance(node, ir.Call):
        return last(node.func) in _CONTAINERS
    return isinstance(node, ir.Mapping) or (isinstance(node, ir.Display) and node.kind != "tuple")


def _flags(body: tuple[ir.Stmt, ...]) -> frozenset[str]:
    """The names of what a comparison has found."""
    made = (node for statement in body for node in walk(statement) if isinstance(node, ir.Assign))
    return frozenset(last(node.target) for node in made if isinstance(node.value, (ir.Compare, ir.Logic))) - {""}


def _defined(body: tuple[ir.Stmt, ...]) -> frozenset[str]:
    """The names of the functions and classes of the module."""
    return frozenset(
        node.name for statement in body for node in walk(statement) if isinstance(node, (ir.Function, ir.Class))
    )


def _mutated(value: ir.Expr) -> set[str]:
    """The name of what a call such as `losses.append(x)` or `loss.div_(n)` changes, or looks as if it did."""
    if named := set_by_name(value):
        return named
    if isinstance(value, ir.Call) and isinstance(value.func, ir.Attr) and value.func.name in _MUTATORS:
        return {last(value.func.owner)} - {""}
    if isinstance(value, ir.Call) and last(value.func) in COLLECTING and value.args:
        return {last(value.args[0])} - {""}
    return set()
