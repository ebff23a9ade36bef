"""Which optimizer a scheduler is of where nobody saw it being made: the one that is called alike, or the only one."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import chain, takewhile

import libcst as cst

from amplint.dialects import vocabulary
from amplint.dialects.vocabulary import ending, words
from amplint.fix.code import Code, Statement, every
from amplint.fix.sentences import read
from amplint.fix.stage import Stage
from amplint.protocol.events import Kind

_OPTIMIZER = ending(vocabulary.OPTIMIZER)
_ROLES = frozenset(words(f"{vocabulary.OPTIMIZER} {vocabulary.SCHEDULER} {vocabulary.RATE}"))


def steps_its_own(stage: Stage, moved: Statement, anchor: Statement) -> bool:
    """Whether a scheduler that steps in a statement may do so behind another one: no other optimizer than those that
    step there may be its own."""
    call = moved.value if isinstance(moved, cst.Expr) else moved
    scheduler = read(Kind.SCHEDULER_STEP, call).get("scheduler")
    known = any(one.optimizer for one in stage.scene.events if one.scheduler and stage.node(one) is call)
    stepping = set(map(_last, _stepping(stage.code, anchor)))
    if scheduler is None or known or not stepping:
        return True
    there = set(_in_sight(stage.code, anchor))
    alike = {name for name in there | stepping if _tells(name) == _tells(_last(scheduler))}
    return not alike.isdisjoint(stepping) if alike else there <= stepping


def _tells(name: str) -> tuple[str, ...]:
    """What a name tells besides what it is of: `critic` of `critic_optimizer`."""
    return tuple(word for word in words(name) if word not in _ROLES)


def _last(source: str) -> str:
    return source.rpartition(".")[2]


def _stepping(code: Code, anchor: Statement) -> Iterator[str]:
    """The optimizers that step in a statement, and in the same row right before it."""
    block = code.block(anchor)
    row = takewhile(_steps, reversed(block[: block.index(anchor)]))
    for node in chain(every(anchor), *map(every, row)):
        if _is_optimizer_step(node):
            yield read(Kind.STEP, node)["optimizer"]


def _steps(statement: Statement) -> bool:
    """Whether a statement steps an optimizer, or says so to the scaler."""
    return isinstance(statement, cst.Expr) and (
        _is_optimizer_step(statement.value) or bool(read(Kind.UPDATE, statement.value))
    )


def _is_optimizer_step(node: cst.CSTNode) -> bool:
    return _OPTIMIZER(_last(read(Kind.STEP, node).get("optimizer", "")))


def _in_sight(code: Code, anchor: Statement) -> Iterator[str]:
    """The optimizers, each by its last name, that the function of a statement knows, or some object of the file."""
    function = code.function(anchor)
    inside = (one for one in every(function) if isinstance(one, cst.Param | cst.AssignTarget | cst.Call))
    bound = (name for one in inside for name in _named(one))
    held = (
        one.attr.value for one in every(code.tree.module) if isinstance(one, cst.Attribute) and _is_bound(code, one)
    )
    return (name for name in chain(bound, held) if _OPTIMIZER(name) and not name.endswith("s"))


def _named(node: cst.Param | cst.AssignTarget | cst.Call) -> Iterator[str]:
    """The names that a parameter or an assignment binds, and that of whatever a call steps or zeroes."""
    if isinstance(node, cst.Call):
        for kind in (Kind.STEP, Kind.ZERO_GRAD):
            yield _last(read(kind, node).get("optimizer", ""))
        return
    target = node.name if isinstance(node, cst.Param) else node.target
    yield from (one.value for one in every(target) if isinstance(one, cst.Name))


def _is_bound(code: Code, node: cst.Attribute) -> bool:
    """Whether an attribute is assigned to, alone or with others."""
    above = code.parents.get(node)
    if isinstance(above, cst.Element):
        above = code.parents.get(code.parents[above])
    return isinstance(above, cst.AssignTarget)
