"""What a schedule counts that the program computes itself: by the numbers that enter its rates."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeGuard

from amplint.dialects import vocabulary as words
from amplint.dialects.schedules import SLOW, STEP
from amplint.dialects.vocabulary import within
from amplint.domains import scheduler_units, shown_counts
from amplint.flow import program as ir
from amplint.flow.spelling import inside, spelled
from amplint.protocol.cadence import COMPLEX, EPOCHS, HOLDS, MICRO_BATCHES, PAST
from amplint.state import class_members, known_numbers, truths
from amplint.state.contexts import Partial
from amplint.state.counting import tags_of
from amplint.state.counts import Length
from amplint.state.run import Run
from amplint.state.scopes import Scope
from amplint.state.values import Function, Instance, Method, Scheduler, Value, text_of

_RATES = ("get_lr", "_get_closed_form_lr")
_WARM, _EPOCH = within(words.WARMING), within("epoch epochs")
_NO_TOTAL = ("warm", "start", "last", "cur", "_count")
_TOTAL = re.compile(
    r"(?i)total|t_max|max_?(iter|step|epoch|update)|num_\w*(iter|step|epoch|update)|\bn?_?(iter|step|epoch|update)s$"
)
_THROUGH = frozenset({"float", "int", "len", "max", "min", "round"})
_PRODUCTS = frozenset({"*", "/", "//"})
MAX_FUNCTIONS = 16

_SHIFTS = frozenset({"+", "-"})
_COMPARING = frozenset({"-", "/", "//", "%"})
_COUNTERS = frozenset({"last_epoch", "_step_count"})
"""The attributes in which torch counts the steps of a schedule: torch 2.13, `lr_scheduler.py`, `LRScheduler`."""


@dataclass(frozen=True)
class Found:
    """How a number is written, and the number; `paired`: a count of steps is compared with it."""

    text: str
    value: Value
    paired: bool


def scheduler(run: Run, name: str, args: list[Value], keywords: dict[str, Value], at: ir.Span) -> Scheduler:
    """A new scheduler, its creation in the trace."""
    made = Scheduler(run.name("scheduler"))
    scheduler_units.begin(run, made, name, args, keywords)
    compose(run, made)
    scheduler_units.created(run, made, at)
    return made


def compose(run: Run, made: Scheduler, instance: Instance | None = None) -> None:
    """Notes what enters the rates of a schedule, unless its class has an argument that says when it is over.

    A number says what the schedule's own steps are if they are compared with it as they are counted. What they were
    turned into before, by a number that may be the length of an epoch, says nothing.
    """
    if "argument" in made.said or "unit" in made.said:
        return
    found: dict[tuple[type, str], Found] = {}
    bodies = list(_bodies(run, made, instance))
    if any(body.turns_complex(run) for body in bodies):
        made.said[PAST] = COMPLEX
    if any(body.decays_by_epochs() for body in bodies):
        made.said["meant"] = EPOCHS
    if any(body.begins_at_one() for body in bodies):
        made.said[HOLDS] = "yes"
    for one in (number for body in bodies for number in body.numbers(run)):
        known = found.setdefault((type(one.value), text_of(one.value)), one)
        found[type(one.value), text_of(one.value)] = replace(known, paired=known.paired or one.paired)
    every = found.values()
    if any(isinstance(one.value, Length) or known_numbers.window_of(run, one.value) is not None for one in every):
        made.said["unit"] = MICRO_BATCHES  # what it does with the window is not asked
        return
    known_ones = [one for one in every if tags_of(one.value) or _TOTAL.search(one.text)]
    first = [one for one in known_ones if _WARM(one.text) and one.paired and tags_of(one.value)]
    totals = [one for one in known_ones if not any(part in one.text.lower() for part in _NO_TOTAL)] or first
    run.horizons.parts += [(shown_counts.bound_text(one.value), made.said) for one in every if one not in totals]
    if totals:
        run.composed.append(([_counted(run, one) for one in totals], made.said))


def _counted(run: Run, one: Found) -> dict[str, str]:
    return scheduler_units.counted(run, one.text, one.value) if one.paired else {"unit": shown_counts.UNTOLD}


def _bodies(run: Run, made: Scheduler, instance: Instance | None) -> Iterator[_Body]:
    """The functions that the rates of a schedule are computed by, those that torch calls first."""
    done: set[int] = set()
    waiting = [_called_first(run, one) for one in (*made.factors, *(_method(instance, name) for name in _RATES))]
    while waiting and len(done) < MAX_FUNCTIONS:
        called = waiting.pop()
        if called is not None and id(called.node) not in done:
            done.add(id(called.node))
            body = _Body(called)
            waiting += body.calls(run)
            yield body


@dataclass(frozen=True)
class _Called:
    """A function that is called with a count of steps: the parameters that hold it, and what others hold."""

    function: Function
    instance: Value
    counts: frozenset[str]
    given: Mapping[str, Value]

    @property
    def node(self) -> ir.Function | ir.Lambda:
        """What is executed."""
        return self.function.node


def _called_first(run: Run, value: Value) -> _Called | None:
    """A function that torch calls with the number of steps so far, which is the first that it is not given before."""
    given: dict[str, Value] = {}
    before: tuple[Value, ...] = ()
    while isinstance(value, Partial):
        given, before, value = {**dict(value.keywords), **given}, (*value.args, *before), value.function
    if not isinstance(value, Function | Method):
        return None
    function, instance = _plain(value), value.instance if isinstance(value, Method) else None
    params = function.node.params[1 if isinstance(value, Method) else 0 :]
    given |= dict(zip((param.name for param in params), before, strict=False))
    open_ones = [param for param in params if param.name not in given]
    for param in open_ones[1:]:
        if param.default is not None:
            given[param.name] = run.evaluate(function.scope, param.default)
    return _Called(function, instance, frozenset(param.name for param in open_ones[:1]), given)


def _plain(function: Function | Method) -> Function:
    return function.function if isinstance(function, Method) else function


def _method(instance: Instance | None, name: str) -> Method | None:
    """A method of an object's class, or of one that it derives from."""
    found = class_members.of_class(instance.klass, name) if instance is not None else None
    return Method(found, instance) if isinstance(found, Function) else None


class _Body:
    """What a function computes, its own names aside.

    `counts`: the names of its own that count the schedule's steps, as they are.
    """

    def __init__(self, called: _Called) -> None:
        node, instance = called.node, called.instance
        self.instance = instance if isinstance(instance, Instance) else None
        self.own = {param.name for param in node.params} - set(called.given)
        self.first = node.params[0].name if self.instance is not None and node.params else ""
        self.attributes = self.instance.attributes if self.instance is not None else {}
        own = {self.first: self.instance} if self.first else {}
        self.scope = Scope({**own, **called.given}, called.function.scope)
        self.nodes = list(inside(node.body))
        bound = [node for node in self.nodes if isinstance(node, ir.Assign | ir.Augment)]
        self.own |= {node.target.name for node in bound if isinstance(node.target, ir.Name)}
        self.counts = set(called.counts)
        self._name(bound)
        self.bound = [(node.target.name, node) for node in bound if isinstance(node.target, ir.Name)]
        self.plain = called.counts
        self.paired = {id(part) for node in self.nodes for part in self._beside(node)}

    def begins_at_one(self) -> bool:
        """Whether the count is kept from falling below 1: then the first two values are equal."""
        calls = (node for node in self.nodes if isinstance(node, ir.Call) and spelled(node.func) == "max")
        return any(
            any(isinstance(one, ir.Const) and one.value == 1 for one in call.args)
            and any(self._counts(one) and not isinstance(one, ir.Binary) for one in call.args)
            for call in calls
        )

    def decays_by_epochs(self) -> bool:
        """Whether its rate is a power of what leaves next to nothing after a hundred steps, to a count that it calls
        epochs, perhaps so many of them at a time."""
        given = [node.value for node in self.nodes if isinstance(node, ir.Return)] or self.nodes[:1]
        power = _unbounded(given[0]) if len(given) == 1 else None
        if not isinstance(power, ir.Binary) or power.op != "**" or not isinstance(power.left, ir.Const):
            return False
        base, counted = power.left.value, _by_the_dozen(power.right)
        if not isinstance(counted, ir.Name) or not _EPOCH(counted.name):
            return False
        return self._is_unbounded(counted.name) and isinstance(base, float) and 0 < base <= SLOW

    def _name(self, bound: Sequence[ir.Assign | ir.Augment]) -> None:
        """Adds the names that hold such a count, and takes out those that may hold another one."""
        for node in bound:
            if isinstance(node.target, ir.Name) and isinstance(node, ir.Assign) and self._counts(node.value):
                self.counts.add(node.target.name)
        for node in bound:
            if isinstance(node.target, ir.Name) and (isinstance(node, ir.Augment) or not self._counts(node.value)):
                self.counts.discard(node.target.name)

    def _counts(self, node: ir.Expr) -> bool:
        """Whether an expression is the number of the schedule's steps, perhaps from some step on."""
        if isinstance(node, ir.Name):
            return node.name in self.counts
        if isinstance(node, ir.Attr):
            return self._is_self(node.owner) and node.name in _COUNTERS
        if isinstance(node, ir.Binary):
            if node.op == "*":
                return any(self._counts(one) and _is_plain(other) for one, other in _sides(node))
            return node.op in _SHIFTS and (self._counts(node.left) or self._counts(node.right))
        return isinstance(node, ir.Call) and spelled(node.func) in _THROUGH and any(map(self._counts, node.args))

    def _beside(self, node: object) -> Iterator[ir.Expr]:
        """The numbers that a count of steps is compared with, from which it is taken or by which it is divided."""
        if isinstance(node, ir.Compare) or (isinstance(node, ir.Binary) and node.op in _COMPARING):
            for one, other in _sides(node):
                if self._counts(one):
                    yield from self._terms(other)
        elif isinstance(node, ir.Call) and spelled(node.func) in _THROUGH and any(map(self._counts, node.args)):
            for one in node.args:
                yield from self._terms(one)

    def turns_complex(self, run: Run) -> bool:
        """Whether it raises to a power that is no whole number what is negative once the count has passed the total.

        Python 3.13: "Raising a negative number to a fractional power results in a complex number"
        (https://docs.python.org/3/library/stdtypes.html). Nothing is said of a count that is compared with a total.
        """
        compared = [node for node in self.nodes if isinstance(node, ir.Compare)]
        sides = [pair for node in compared for pair in _sides(node)]
        if any(self._counts(one) and not _WARM(spelled(other)) for one, other in sides):
            return False
        powers = [node for node in self.nodes if isinstance(node, ir.Binary) and node.op == "**"]
        return any(self._falls(node.left) and self._is_fraction(run, node.right) for node in powers)

    def _is_fraction(self, run: Run, node: ir.Expr) -> bool:
        value = run.evaluate(self.scope, node) if self._is_number(node) else None
        return isinstance(value, float) and value != int(value)

    def _falls(self, node: ir.Expr, depth: int = 4) -> bool:
        """Whether a number comes down with the count and goes on below 0."""
        if isinstance(node, ir.Name) and depth:
            value = self._only_value(node.name)
            return value is not None and self._falls(value, depth - 1)
        if not isinstance(node, ir.Binary):
            return False
        if node.op == "-":
            return self._rises(node.right, depth)
        return node.op in _PRODUCTS and (self._falls(node.left, depth) or self._falls(node.right, depth))

    def _rises(self, node: ir.Expr, depth: int) -> bool:
        """Whether a number goes up with the count, and nothing keeps it below a total."""
        if isinstance(node, ir.Name):
            value = self._only_value(node.name) if depth else None
            return self._rises(value, depth - 1) if value is not None else self._is_unbounded(node.name)
        if isinstance(node, ir.Attr):
            return self._counts(node)
        if isinstance(node, ir.Binary):
            terms = (node.left,) if node.op in ("-", "/", "//") else (node.left, node.right)
            return node.op in _PRODUCTS | _SHIFTS and any(self._rises(one, depth) for one in terms)
        return isinstance(node, ir.Call) and spelled(node.func) in ("float", "int") and self._rises(node.args[0], depth)

    def _only_value(self, name: str) -> ir.Expr | None:
        values = [node for bound, node in self.bound if bound == name]
        return values[0].value if len(values) == 1 and isinstance(values[0], ir.Assign) else None

    def _is_unbounded(self, name: str) -> bool:
        return name in self.plain and all(bound != name for bound, _ in self.bound)

    def _terms(self, node: ir.Expr) -> Iterator[ir.Expr]:
        """The numbers that a sum or difference is made of, or one of which is chosen."""
        if self._is_number(node):
            yield node
        elif isinstance(node, ir.Binary) and node.op in _SHIFTS:
            yield from (*self._terms(node.left), *self._terms(node.right))
        elif isinstance(node, ir.Call) and spelled(node.func) in _THROUGH:
            for one in node.args:
                yield from self._terms(one)

    def calls(self, run: Run) -> Iterator[_Called]:
        """The functions that it calls, on its own object or by their names, with what they are given."""
        for node in self.nodes:
            found = self._callee(node.func) if isinstance(node, ir.Call) else None
            if isinstance(node, ir.Call) and found is not None:
                function, instance = found
                params = [param.name for param in function.node.params[1 if instance is not None else 0 :]]
                handed = {**dict(zip(params, node.args, strict=False)), **dict(node.keywords)}
                counts = frozenset(name for name, value in handed.items() if self._counts(value))
                known = {name: value for name, value in handed.items() if self._is_number(value)}
                given = {name: run.evaluate(self.scope, value) for name, value in known.items() if name not in counts}
                yield _Called(function, instance, counts, given)

    def _callee(self, func: ir.Expr) -> tuple[Function, Value] | None:
        """The function of the program that is called, with the object that it is a method of."""
        if isinstance(func, ir.Attr) and self._is_self(func.owner):
            method = _method(self.instance, func.name)
            return (method.function, self.instance) if method is not None else None
        scope = self.scope.find(func.name) if isinstance(func, ir.Name) else None
        found = scope.names[func.name] if scope is not None and isinstance(func, ir.Name) else None
        return (found, None) if isinstance(found, Function) else None

    def numbers(self, run: Run) -> Iterator[Found]:
        """The numbers that it takes from elsewhere, products and quotients of such as one."""
        covered: set[int] = set()
        for node in self.nodes:
            if id(node) not in covered and not isinstance(node, ir.Const) and self._is_number(node):
                covered |= {id(part) for part in inside(node)}
                number = _number(node)
                text = spelled(number).removeprefix(f"{self.first}.")
                value = truths.resolve(run, run.evaluate(self.scope, number))
                yield Found(text, value, id(node) in self.paired)

    def _is_self(self, node: object) -> bool:
        return isinstance(node, ir.Name) and bool(self.first) and node.name == self.first

    def _is_number(self, node: object) -> TypeGuard[ir.Expr]:
        """Whether an expression is made of nothing but numbers that were there before."""
        if isinstance(node, ir.Name):
            return node.name not in self.own and self.scope.find(node.name) is not None
        if isinstance(node, ir.Attr):
            if self._is_self(node.owner):
                return node.name in self.attributes
            return isinstance(node.owner, ir.Name | ir.Attr) and self._is_number(node.owner)
        if isinstance(node, ir.Binary):
            return node.op in _PRODUCTS and self._is_number(node.left) and self._is_number(node.right)
        if isinstance(node, ir.Call):
            plain = isinstance(node.func, ir.Name) and node.func.name in _THROUGH and not node.keywords
            return plain and bool(node.args) and all(map(self._is_number, node.args))
        return isinstance(node, ir.Const)


def _sides(node: ir.Binary | ir.Compare) -> tuple[tuple[ir.Expr, ir.Expr], ...]:
    return (node.left, node.right), (node.right, node.left)


def _unbounded(node: object) -> object:
    """What is kept from falling below a number, or the node itself."""
    if isinstance(node, ir.Call) and spelled(node.func) == "max":
        rest = [one for one in node.args if not isinstance(one, ir.Const)]
        return rest[0] if len(rest) == 1 else node
    return node


def _by_the_dozen(node: ir.Expr) -> ir.Expr:
    """What is counted in steps of a few at a time, or the number itself."""
    if isinstance(node, ir.Call) and spelled(node.func) == "int" and len(node.args) == 1:
        node = node.args[0]
    if isinstance(node, ir.Binary) and node.op in ("/", "//") and isinstance(node.right, ir.Const):
        several = node.right.value
        return node.left if isinstance(several, int) and several <= STEP.most else node
    return node


def _is_plain(node: ir.Expr) -> bool:
    """Whether a factor is no unit: a literal, or the number of a circle."""
    return isinstance(node, ir.Const) or spelled(node).rpartition(".")[2] == "pi"


def _number(node: ir.Expr) -> ir.Expr:
    """What is converted by `float(x)` or `int(x)`, or kept from being 0 by `max(1, x)`, or the expression itself."""
    if not isinstance(node, ir.Call):
        return node
    name = spelled(node.func)
    rest = [one for one in node.args if not (isinstance(one, ir.Const) and one.value in (0, 1))]
    asks = bool(rest) and (name in ("float", "int") or (name == "max" and len(rest) == 1))
    return _number(rest[0]) if asks else node
