"""Losses that are added to a running total with their graphs: each of them detached, in whatever branch it is added.

What else is added to the same total is left alone where it is known to have no graph. Where that is not known, nothing
is written: one branch would keep its graphs, or a number would be detached.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.catalogue.remedy import Detach
from amplint.dialects import vocabulary as words
from amplint.dialects.vocabulary import within
from amplint.fix.code import Change, Code, Statement, every
from amplint.fix.sentences import read
from amplint.fix.stage import Stage
from amplint.protocol.events import Kind

_SIMPLE = (cst.Name, cst.Attribute, cst.Subscript, cst.Call, cst.Integer)
_LOSS = within(words.LOSS)
_WITHOUT_GRAPH = frozenset({"item", "detach", "detach_", "tolist", "float", "int", "len"})
Added = tuple[cst.BaseExpression, list[cst.BaseExpression]]
"""A total, and what may be meant to be added to it; the likelier first."""


def detach(stage: Stage, action: Detach) -> Iterator[list[Change]]:
    """What is added to a total at the finding, and wherever else in its function, detached."""
    node = stage.code.at(stage.site)
    statement = stage.code.statement(node) if node is not None else None
    added = _added(statement) if statement is not None else None
    if statement is None or added is None:
        return
    others = _others(stage, statement, added[0])
    for value in added[1]:
        if others is not None:
            yield [_detached(stage.code, _loss_in(one)) for one in (value, *others)]


def _added(statement: cst.CSTNode) -> Added | None:
    """The total that a statement adds to; None for a statement that does not."""
    if isinstance(statement, cst.AugAssign) and isinstance(statement.operator, cst.AddAssign):
        return statement.target, [statement.value]
    if isinstance(statement, cst.Assign) and isinstance(statement.value, cst.BinaryOperation):
        target = statement.targets[0].target
        if not any(side.deep_equals(target) for side in _operands(statement.value)):
            return None
        sides = [side for side in (statement.value.right, statement.value.left) if not side.deep_equals(target)]
        return (target, sides) if isinstance(target, cst.BaseExpression) else None
    call = statement.value if isinstance(statement, cst.Expr) else None
    if isinstance(call, cst.Call) and isinstance(call.func, cst.Attribute) and call.args:
        return call.func.value, _held(_argument(call))
    return None


def _argument(call: cst.Call) -> cst.BaseExpression:
    """What a call adds to what its method belongs to: the one argument that is a loss by its name, else the first."""
    losses = [one.value for one in call.args if _may_have_graph(one.value)]
    return losses[0] if len(losses) == 1 else call.args[0].value


def _held(value: cst.BaseExpression) -> list[cst.BaseExpression]:
    """A value, or the one loss in a dict, tuple or list that is written out; none where it holds several."""
    if isinstance(value, cst.Dict | cst.Tuple | cst.List):
        found = [one.value for one in value.elements if _may_have_graph(one.value)]
        return found if len(found) == 1 else []
    return [value]


def _operands(value: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
    """What a value is computed from by operators alone."""
    if isinstance(value, cst.BinaryOperation):
        yield from _operands(value.left)
        yield from _operands(value.right)
    else:
        yield value


def _others(stage: Stage, statement: Statement, total: cst.BaseExpression) -> list[cst.BaseExpression] | None:
    """What else a function adds to a total with its graph; None where that is not known of something."""
    code, found = stage.code, []
    kept = _kept(stage)
    for one in every(code.function(statement)):
        added = _added(one) if one is not statement else None
        if added is None or not added[0].deep_equals(total) or len(added[1]) != 1:
            continue
        (value,) = added[1]
        if not _may_have_graph(value):
            continue
        if one in kept or _goes_back(code, value):
            found.append(value)
        else:
            return None
    return found


def _kept(stage: Stage) -> set[cst.CSTNode | None]:
    """The statements that are known to add a loss with its graph to a total."""
    events = (one for run in stage.runs() for one in run if one.kind is Kind.KEEP and one.site.path == stage.path)
    nodes = (stage.code.at(site) for site in {*stage.others, *(one.site for one in events)})
    return {stage.code.statement(node) for node in nodes if node is not None}


def _goes_back(code: Code, value: cst.BaseExpression) -> bool:
    """Whether what is added is back-propagated under its name, where it is added."""
    name = code.source(_loss_in(value))
    calls = (one for one in every(code.function(value)) if isinstance(one, cst.Call))
    return any(read(Kind.BACKWARD, one).get("loss") == name and not code.exclude(one, value) for one in calls)


def _may_have_graph(value: cst.BaseExpression) -> bool:
    """Whether something called a loss is added, and not as a number."""
    source = cst.Module([]).code_for_node(value)
    names = {one.value for one in every(value) if isinstance(one, cst.Name)}
    return not isinstance(value, cst.BaseString) and _LOSS(source) and not names & _WITHOUT_GRAPH


def _loss_in(value: cst.BaseExpression) -> cst.BaseExpression:
    """The factor of a product that is a loss by its name; else all of it."""
    while isinstance(value, cst.BinaryOperation) and isinstance(value.operator, cst.Multiply | cst.Divide):
        sides = [value.left] if isinstance(value.operator, cst.Divide) else [value.left, value.right]
        named = [side for side in sides if _LOSS(cst.Module([]).code_for_node(side))]
        if len(named) != 1:
            break
        value = named[0]
    return value


def _detached(code: Code, value: cst.BaseExpression) -> Change:
    start, end = code.outer(value)
    if isinstance(value, _SIMPLE) or value.lpar:
        return Change(end, end, ".detach()")
    return Change(start, end, f"({code.text[start:end]}).detach()")
