"""A module's statements without the irrelevant ones, with notes on what loops, branches and functions do."""

from __future__ import annotations

from collections.abc import Callable, Collection, Container, Iterable
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import NoReturn, TypeVar

from amplint.dialects import vocabulary as words
from amplint.dialects.averages import BY_HAND
from amplint.dialects.vocabulary import within
from amplint.flow import program as ir
from amplint.lower.bound import bound
from amplint.lower.contents import Contents
from amplint.lower.deeds import NO_DEEDS, Deeds, deeds_of
from amplint.lower.endless import endless
from amplint.lower.forwards import forwards
from amplint.lower.freezing import may_freeze
from amplint.lower.giving import giving
from amplint.lower.half_models import keeps_copies, wider_classes
from amplint.lower.held_schedules import movers
from amplint.lower.left_open import is_left_open
from amplint.lower.names import binds, calls, dotted, functions, last, reaches, reads, walk
from amplint.lower.norms import computes_with_norms
from amplint.lower.parts import parts
from amplint.lower.plain_steps import is_plain_step
from amplint.lower.project import Neighbours, by_their_names, constants_of, is_idle
from amplint.lower.put_aside import restores
from amplint.lower.ranks import by_hand
from amplint.lower.rates_by_hand import with_rates_by_hand
from amplint.lower.reached import reached
from amplint.lower.relevance import Relevance
from amplint.lower.stores import counted
from amplint.lower.usage import Usage, takers, usage_of

Body = tuple[ir.Stmt, ...]
Loop = TypeVar("Loop", ir.For, ir.While)
_DECIDING = frozenset({"zero_grad", "unscale_", "backward", "update", BY_HAND})


@dataclass(frozen=True)
class Surroundings:
    """The frameworks that a module uses, the names in them, what their functions do, and which `objects` of theirs are
    called; `stubs`: other programs of libraries."""

    libraries: tuple[ir.Library, ...] = ()
    stubs: tuple[ir.Library, ...] = ()
    words: frozenset[str] = frozenset()
    deeds: Deeds = NO_DEEDS
    objects: frozenset[str] = frozenset()


ALONE = Surroundings()
"""No frameworks."""


def program_of(path: str, body: Body, around: Surroundings = ALONE, taken: Neighbours | None = None) -> ir.Program:
    """The program of a module and of what it takes from others: what matters to the training step, nothing else."""
    taken, body = taken or Neighbours(), with_rates_by_hand(body)
    every = (*body, *by_their_names(taken, body)) if taken.links else body
    usage = usage_of(every)
    objects = around.words if ".__call__" in around.deeds.acting else frozenset()  # that are called
    deeds = deeds_of(every, usage, around.deeds, objects, around.objects)
    gives = giving(every)
    words = around.words | {name.lstrip(".") for name in deeds.acting} if objects else around.words
    relevance = Relevance(every, usage, deeds, words, constants_of(taken), gives)
    pruner = _Pruner(usage, deeds, relevance.kept, gives, endless(every))
    pruned = pruner.body(body)
    bodies = {file: pruner.body(statements) for file, statements in taken.bodies.items()}
    idle = {here for here, there in taken.links.items() if is_idle(bodies[there[0]], there[1])}
    return ir.Program(
        path,
        pruned,
        usage.methods,
        _called(body, usage.driven),
        around.libraries,
        around.stubs,
        takers=takers(every),
        movers=movers(every, usage.scheduled),
        reached=reached(path, body),
        varying=_varying(pruned),
        losses=usage.losses,
        casts=_casts(every),
        ranks=by_hand(every),
        restores=restores(every),
        freezes=may_freeze(every),
        neighbours=bodies,
        links={here: there for here, there in taken.links.items() if here not in idle},
        quiet=frozenset(taken.quiet | idle),
        parts=parts(every, usage.methods),
        norms_used=computes_with_norms(every),
        wider=None if around.libraries else _wider((body, *taken.bodies.values())),
        packages=frozenset(_packages(every)),
        forwards=forwards({path: body, **taken.bodies}),
        counted=counted(every),
    )


def _called(body: Body, driven: frozenset[str]) -> frozenset[str]:
    """The functions of a module that another one calls."""
    return frozenset(name for key, function in functions(body) for name in reaches(function, driven) - {key})


def _packages(body: Body) -> Iterable[str]:
    nodes = (node for statement in body for node in walk(statement))
    return (node.qualified.partition(".")[0] for node in nodes if isinstance(node, ir.Import))


def _wider(bodies: Collection[Body]) -> frozenset[str] | None:
    """The classes that may make parameters of a dtype of their own; None where copies in float32 may be kept."""
    if any(map(keeps_copies, bodies)):
        return None
    return frozenset(name for body in bodies for name in wider_classes(body))


def _varying(body: Body) -> frozenset[str]:
    """The names that the body of a loop over batches sets to something other than a literal."""
    nodes = [node for statement in body for node in walk(statement)]
    loops = [node for node in nodes if isinstance(node, (ir.For, ir.While)) and _over_batches(node.shape)]
    inside = [node for loop in loops for child in loop.body for node in walk(child) if isinstance(node, ir.Assign)]
    return frozenset(name for node in inside if not isinstance(node.value, ir.Const) for name in binds(node.target))


def _over_batches(shape: ir.Shape) -> bool:
    return shape.backward and shape.steps and not shape.nested


def whole(body: Body) -> tuple[Body, Deeds]:
    """All statements of a module, with the notes on what they do; and what its functions do."""
    usage = usage_of(body)
    deeds = deeds_of(body, usage)
    everything = {id(node) for statement in body for node in walk(statement)}
    return _Pruner(usage, deeds, everything).body(body), deeds


class _Pruner:
    """Rebuilds statements. Each method returns what remains of one."""

    def __init__(
        self,
        usage: Usage,
        deeds: Deeds,
        kept: AbstractSet[int],
        gives: Container[int] = frozenset(),
        endless: Container[int] = frozenset(),
    ) -> None:
        self.usage, self.deeds, self.kept, self.gives, self.endless = usage, deeds, kept, gives, endless
        self.contents = Contents(usage)

    def body(self, nodes: Iterable[ir.Stmt]) -> Body:
        nodes = tuple(nodes)
        kept = ((found, nodes[at + 1 :]) for at, node in enumerate(nodes) if (found := self._one(node)) is not None)
        others = {name for one in nodes if isinstance(one, ir.If) for child in one.body for name in _resets(child)}
        return tuple(self._passing(node, rest, others) if isinstance(node, ir.If) else node for node, rest in kept)

    def _passing(self, node: ir.If, rest: Body, others: set[str]) -> ir.If:
        """An `if` that goes on with the next micro-step unless a counter is full: the rest of the block is its gate.

        `others`: counters that some `if` of the block resets.
        """
        goes_on = bool(node.body) and isinstance(node.body[-1], ir.Leave) and node.body[-1].how == "continue"
        acts = self._steps(rest) or self._erases(rest)
        counters = others if not node.gates and others and self._decides(node) else set()
        if goes_on and not node.gates and acts and not self._goes_back(rest):
            counters = counters | {name for child in rest for name in _resets(child)}
        return replace(node, test=_counting(node.test, counters)) if counters else node

    def _one(self, node: ir.Stmt) -> ir.Stmt | None:
        if isinstance(node, ir.Function):
            return self._function(node, node.name)
        if isinstance(node, ir.Class):
            return replace(node, body=self._members(node.body))
        if id(node) not in self.kept:
            return None
        make = _COMPOUNDS.get(type(node))
        return make(self, node) if make else node  # type: ignore[arg-type]  # of its own kind of node

    def _members(self, nodes: Iterable[ir.Stmt]) -> Body:
        """The statements of a class, whose functions are methods."""
        made = (
            self._function(node, f".{node.name}") if isinstance(node, ir.Function) else self._one(node)
            for node in nodes
        )
        return tuple(found for found in made if found is not None)

    def _function(self, node: ir.Function, key: str) -> ir.Function:
        """A function of which nothing matters keeps its name and loses its body."""
        return replace(
            node,
            body=self.body(node.body),
            relevant=key in self.deeds.acting,
            loops=key in self.deeds.looping,
            backward=self._goes_back(node.body),
            steps=self._steps(node.body),
            zeroes=self._erases(node.body),
            casts=_entered(node) if node.name == "forward" else (),
            gives=id(node) in self.gives,
            silent=_is_silent(node),
            left_open=is_left_open(node),
            endless=id(node) in self.endless,
            bound=bound(node.body, self.kept),
            updates=key == ".step" and is_plain_step(node),
        )

    def _if(self, node: ir.If) -> ir.If:
        yes, no = self._steps(node.body), self._steps(node.orelse)
        gates = yes != no and not self._goes_back(node.body if yes else node.orelse)
        test = node.test
        if not gates and not self._decides(node):
            test = _ungated(test)
        else:
            test = _counting(test, {name for child in node.body for name in _resets(child)})
        body = self.body(node.body)
        leaves = all(isinstance(child, ir.Leave) and child.how != "continue" for child in body)
        leaves = leaves and bool(body or not node.orelse)  # of nothing at all the test still says when the rest runs
        return replace(node, test=test, body=body, orelse=self.body(node.orelse), gates=gates, leaves=leaves)

    def _decides(self, node: ir.If) -> bool:
        """Whether a branch erases gradients, goes back, averages weights, or jumps: then its test may be the test of a
        window."""
        inside = self.contents.of((*node.body, *node.orelse))
        called = inside.reaches & (self.deeds.going_back | self.deeds.averaging)
        return inside.jumps or bool(inside.calls & _DECIDING or called)

    def _loop(self, node: Loop) -> Loop:
        inner = [part for child in node.body for part in walk(child) if isinstance(part, (ir.For, ir.While))]
        called = self.contents.of(node.body).reaches
        nested = any(self._loops_back(loop) for loop in inner) or bool(called & self.deeds.looping)
        anew = frozenset(name for child in node.body for part in walk(child) for name in _anew(part))
        yields = any(isinstance(part, ir.Yield) for child in node.body for part in walk(child))
        shape = ir.Shape(self._loops_back(node), self._steps(node.body), nested, yields, anew)
        return replace(node, body=self._gated(self.body(node.body)), orelse=self.body(node.orelse), shape=shape)

    def _gated(self, body: Body) -> Body:
        """The body of a loop; what steps behind an `if` that does nothing but go on stands under its opposite."""
        for at, node in enumerate(body):
            rest = body[at + 1 :]
            goes_on = isinstance(node, ir.If) and len(node.body) == 1 and getattr(node.body[0], "how", "") == "continue"
            if isinstance(node, ir.If) and goes_on and not node.orelse and self._steps(rest):
                if self._goes_back(rest):
                    continue
                test = ir.Logic(node.at, "not", (node.test,))
                return (*body[:at], replace(node, test=test, body=rest, gates=True))
        return body

    def _loops_back(self, loop: ir.For | ir.While) -> bool:
        """Whether a loop back-propagates again and again, as one over batches or micro-batches does."""
        return self._goes_back(loop.body) and not self.usage.over_losses(loop) and not self._over_optimizers(loop)

    def _over_optimizers(self, loop: ir.For | ir.While) -> bool:
        """Whether a loop goes over optimizers, each of which has a backward of the same batch."""
        if not isinstance(loop, ir.For) or not any(map(self.usage.is_optimizer, reads(loop.target))):
            return False
        inner = (part for child in loop.body for part in walk(child) if isinstance(part, (ir.For, ir.While)))
        return not any(map(self._loops_back, inner))

    def _goes_back(self, nodes: Iterable[ir.Stmt]) -> bool:
        inside = self.contents.of(nodes)
        return inside.goes_back or bool(inside.reaches & self.deeds.going_back)

    def _steps(self, nodes: Iterable[ir.Stmt]) -> bool:
        inside = self.contents.of(nodes)
        return inside.steps or bool(inside.reaches & self.deeds.stepping)

    def _erases(self, nodes: Iterable[ir.Stmt]) -> bool:
        inside = self.contents.of(nodes)
        return inside.erases or bool(inside.reaches & self.deeds.zeroing)


def _is_silent(node: ir.Function) -> bool:
    """Whether a function acts and returns None; one that only refuses is left to those who derive from its class."""
    acts = not node.generator and any(not isinstance(child, (ir.Leave, ir.Return)) for child in node.body)
    return acts and not any(isinstance(part, ir.Return) and part.value is not None for part in walk(node))


def _anew(node: object) -> set[str]:
    """The names that a statement sets to something that does not depend on what they held."""
    if isinstance(node, ir.Assign):
        return binds(node.target) - reads(node.value)
    emptied = isinstance(node, ir.Call) and isinstance(node.func, ir.Attr) and node.func.name in ("clear", "zero_")
    return binds(node.func.owner) if emptied and isinstance(node, ir.Call) and isinstance(node.func, ir.Attr) else set()


def _try(self: _Pruner, node: ir.Try) -> ir.Try:
    handlers = tuple(self.body(handler) for handler in node.handlers)
    return replace(
        node,
        body=self.body(node.body),
        handlers=handlers,
        orelse=self.body(node.orelse),
        final=self.body(node.final),
    )


_COMPOUNDS: dict[type, Callable[[_Pruner, NoReturn], ir.Stmt]] = {
    ir.If: _Pruner._if,
    ir.For: _Pruner._loop,
    ir.While: _Pruner._loop,
    ir.With: lambda self, node: replace(node, body=self.body(node.body)),
    ir.Try: _try,
}


def _rebuilt(node: ir.Expr, change: Callable[[ir.Expr], ir.Expr]) -> ir.Expr:
    """An expression of tests (logic, comparisons, arithmetic) with `change` applied from the leaves up."""
    if isinstance(node, ir.Logic):
        node = replace(node, parts=tuple(_rebuilt(part, change) for part in node.parts))
    elif isinstance(node, (ir.Binary, ir.Compare)):
        node = replace(node, left=_rebuilt(node.left, change), right=_rebuilt(node.right, change))
    return change(node)


def _ungated(test: ir.Expr) -> ir.Expr:
    """A test whose remainders say nothing about the window."""

    def change(node: ir.Expr) -> ir.Expr:
        return replace(node, gates=False) if isinstance(node, ir.Binary) else node

    return _rebuilt(test, change)


def _counting(test: ir.Expr, counters: set[str]) -> ir.Expr:
    """A test whose comparisons with a counter that the branch resets say how long the window is."""

    def change(node: ir.Expr) -> ir.Expr:
        if isinstance(node, ir.Compare) and (binds(node.left) | binds(node.right)) & counters:
            return replace(node, gates=True)
        return node

    return _rebuilt(test, change)


def _resets(node: ir.Stmt) -> set[str]:
    """The names that a statement sets back to a number."""
    if isinstance(node, ir.Assign) and isinstance(node.value, ir.Const) and isinstance(node.value.value, int):
        return binds(node.target)
    return set()


_CAST = within(words.CASTING)


def _entered(function: ir.Function) -> tuple[ir.Expr, ...]:
    """The contexts that may be autocast ones, in a function's `with` statements and its decorators."""
    found = [node.context for child in function.body for node in walk(child) if isinstance(node, ir.With)]
    return tuple(context for context in (*function.decorators, *found) if any(map(_CAST, reads(context))))


def _casts(body: Body) -> bool:
    """Whether some function that does not back-propagate enters what may be an autocast region, or a forward casts."""
    found = [function for _, function in functions(body)]
    entered = any(_entered(function) and "backward" not in calls(function) for function in found)
    return entered or any(_casts_by_hand(function) for function in found if function.name == "forward")


def _casts_by_hand(function: ir.Function) -> bool:
    """Whether a function casts to a precision that a setting names: `x.to(COMPUTE_DTYPE)`."""
    made = (node for node in walk(function) if isinstance(node, ir.Call) and last(node.func) == "to")
    given = (value for call in made for value in (*call.args, *(value for _, value in call.keywords)))
    return any(_is_named_dtype(dotted(value)) for value in given)


def _is_named_dtype(name: str) -> bool:
    """Whether a name is that of a setting, unlike the `dtype` of another tensor."""
    *owners, own = name.lower().split(".")
    return own.endswith("dtype") and _OF_SETTINGS.issuperset(owners)


_OF_SETTINGS = frozenset({"self", "config", "cfg", "args"})
