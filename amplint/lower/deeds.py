"""What the functions of a module do to the training step, in themselves or in what they call."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from amplint.flow import program as ir
from amplint.lower.aliases import NAMELESS, aliases_of
from amplint.lower.keepers import keepers
from amplint.lower.left_open import is_left_open
from amplint.lower.loose_methods import loose_methods
from amplint.lower.names import binds, calls, functions, reaches, walk
from amplint.lower.usage import Usage, acts, averages, erases, goes_back


@dataclass(frozen=True)
class Deeds:
    """The names of the module's functions that do something, in themselves or in what they call.

    `acting`: an event of the training step may happen; `stepping`: an optimizer steps; `going_back`: a loss is
    back-propagated; `looping`: it is so in a loop; `zeroing`: gradients are zeroed; `averaging`: weights are averaged.
    `keeping`: the statements, by identity, that hand losses to what keeps them, and those that keep them.
    """

    acting: frozenset[str]
    stepping: frozenset[str]
    going_back: frozenset[str]
    looping: frozenset[str]
    zeroing: frozenset[str]
    averaging: frozenset[str] = frozenset()
    keeping: frozenset[int] = frozenset()


NO_DEEDS = Deeds(frozenset(), frozenset(), frozenset(), frozenset(), frozenset())


def deeds_of(
    body: Iterable[ir.Stmt],
    usage: Usage,
    others: Deeds = NO_DEEDS,
    names: Collection[str] = (),
    given: Collection[str] = (),
) -> Deeds:
    """What the functions of a module do. `others`: what those do that it can call and that are not its own; `names`:
    what those are called; `given`: objects that are called and made elsewhere."""
    found, loose = list(functions(body)), [(f"<{at}>", *method) for at, method in enumerate(loose_methods(body))]
    keeping, kept = keepers(body, usage.losses)
    every = [*found, *((NAMELESS, node) for node in _nameless(body)), *((name, call) for name, call, _ in loose)]
    called = [(name, reaches(node, usage.driven)) for name, node in every]
    own = [(name, [part for part in walk(node) if isinstance(part, ir.Call)]) for name, node in every]
    objects, aliases = _callable_objects(body, names, given), aliases_of(body)
    aliases |= {(name, alias) for name, _, bound in loose for one in bound for alias in (one, f".{one}")}

    def closure(direct: set[str]) -> frozenset[str]:
        while more := ({name for name, names in called if names & direct} | _others(direct)) - direct:
            direct |= more
        return frozenset(direct)

    def _others(direct: set[str]) -> set[str]:
        return {name for source, name in aliases if source in direct} | (objects if ".__call__" in direct else set())

    def doing(act: Callable[[ir.Call], bool]) -> set[str]:
        return {name for name, made in own if any(act(call) for call in made)}

    changing = {name for name, node in every if _takes_part(node, usage)} | keeping
    going_back = closure(doing(goes_back) | others.going_back)
    looping = {name for name, node in found if any(_loops_back(child, going_back, usage) for child in node.body)}
    return Deeds(
        closure(changing | others.acting),
        closure(doing(usage.steps) | others.stepping),
        going_back,
        closure(looping),
        closure(doing(erases) | others.zeroing),
        closure(doing(averages)),
        kept,
    )


def _takes_part(node: ir.Function | ir.Expr, usage: Usage) -> bool:
    """Whether a function may have a part in the step, by what stands in it, or as it is left to others."""
    suite = node.body if isinstance(node, ir.Function) else (node,)
    return (isinstance(node, ir.Function) and is_left_open(node)) or any(acts(child, usage) for child in suite)


def _nameless(body: Iterable[ir.Stmt]) -> list[ir.Expr]:
    """What the nameless functions of a module compute."""
    return [node.body for statement in body for node in walk(statement) if isinstance(node, ir.Lambda)]


def _callable_objects(body: Iterable[ir.Stmt], names: Collection[str], given: Collection[str]) -> set[str]:
    """The names that are bound to objects of classes that can be called: of the module's own, or among `names`; and
    what is `given`."""
    nodes = [node for statement in body for node in walk(statement)]
    classes = {
        node.name
        for node in nodes
        if isinstance(node, ir.Class)
        and any(isinstance(child, ir.Function) and child.name == "__call__" for child in node.body)
    }
    classes |= {name for name in names if name[:1].isupper()}
    made = [node for node in nodes if isinstance(node, ir.Assign) and calls(node.value) & classes]
    bound = {name for node in made for name in binds(node.target)} | set(given)
    return bound | {f".{name}" for name in bound}


def _loops_back(node: ir.Stmt, going_back: frozenset[str], usage: Usage) -> bool:
    """Whether a loop inside a statement back-propagates."""
    loops = (part for part in walk(node) if isinstance(part, (ir.For, ir.While)) and not usage.over_losses(part))
    return any("backward" in calls(loop) or reaches(loop, usage.driven) & going_back for loop in loops)
