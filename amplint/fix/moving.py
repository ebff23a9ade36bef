"""Events that happen at the wrong place: their statements taken out, and written next to another event."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import takewhile

import libcst as cst

from amplint.catalogue.remedy import Move
from amplint.fix import layout
from amplint.fix.code import Change, Code, Statement, every
from amplint.fix.pairs import steps_its_own
from amplint.fix.placing import beside, conditional, last_alike
from amplint.fix.reading import read_later
from amplint.fix.stage import Stage
from amplint.protocol.events import Event, Kind

Changes = list[Change]


def move(stage: Stage, action: Move) -> Iterator[Changes]:
    """The event moved, with those next to it that are as wrong; else alone."""
    moved = [found for kind in (action.what, *action.along) if (found := stage.statement(kind)) is not None]
    first = stage.statement(action.what)
    if first is None:
        return
    alike, branches = _alike(stage, first, action.what), _every_branch(stage, first)
    several = [[branches]] if branches is not None else []
    several += [[*alike, *moved[1:]]] if len(alike) > 1 else []
    for one in [*several, moved]:
        yield from _moved(stage, action, one)


def _is_as_wrong(stage: Stage, statement: cst.CSTNode) -> bool:
    """Whether a statement is a call of which the rule says the same."""
    calls = [stage.code.at(site) for site in (stage.site, *stage.others)]
    return isinstance(statement, cst.Expr) and any(statement.value is call for call in calls)


def _every_branch(stage: Stage, statement: Statement) -> Statement | None:
    """The `if` of which every branch does what is as wrong, and nothing else."""
    above = next((one for one in stage.code.above(statement) if isinstance(one, cst.If)), None)
    outer = stage.code.statement(above) if above is not None else None
    if not isinstance(outer, cst.If) or above is None or not isinstance(_last_branch(outer), cst.Else):
        return None
    inner = [one for one in every(outer) if isinstance(one, Statement) and not isinstance(one, cst.If)]
    all_wrong = all(_is_as_wrong(stage, one) or _is_text(one) for one in inner)
    return outer if all_wrong and sum(_is_as_wrong(stage, one) for one in inner) > 1 else None


def _last_branch(node: cst.If) -> cst.CSTNode | None:
    while isinstance(node.orelse, cst.If):
        node = node.orelse
    return node.orelse


def _is_text(statement: cst.CSTNode) -> bool:
    """Whether a statement is a string, with which somebody comments on what follows."""
    return isinstance(statement, cst.Expr) and isinstance(statement.value, cst.SimpleString | cst.ConcatenatedString)


def _alike(stage: Stage, statement: Statement, kind: Kind) -> list[Statement]:
    """The statements in a row around one of which the rule says the same, or would: they do it to other objects."""
    block = stage.code.block(statement)
    same = [stage.code.at(one.site) for one in stage.scene.events if one.kind is kind and one.site.path == stage.path]
    told = [
        one is statement or _is_as_wrong(stage, one) or (isinstance(one, cst.Expr) and one.value in same)
        for one in block
    ]
    at = block.index(statement)
    first = at - len(list(takewhile(bool, reversed(told[:at]))))
    return [one for one, _ in takewhile(lambda pair: pair[1], zip(block[first:], told[first:], strict=True))]


def _moved(stage: Stage, action: Move, moved: list[Statement]) -> Iterator[Changes]:
    moved = sorted(moved, key=lambda one: stage.code.span(one)[0])
    alone = list(dict.fromkeys(moved))
    anchors = _anchors(stage, action, moved)
    moved = layout.together(stage.code, alone)
    if not anchors or any(_is_commented_on(stage.code, one) for one in moved):
        return
    if any(_is_bound_to(stage.code, one, anchor) for one in moved for anchor in anchors):
        return
    if action.what is Kind.CLIP and action.before and any(_goes_back_in(stage, anchor) for anchor in anchors):
        return  # it would stand before the backward still
    if any(all(other in moved for other in stage.code.block(one)) for one in moved):
        return  # nothing would be left of its block, or of its loop
    paired = all(steps_its_own(stage, one, anchor) for one in alone for anchor in anchors)
    if action.what is Kind.SCHEDULER_STEP and not paired:
        return
    if action.what is Kind.ZERO_GRAD and action.after and any(read_later(stage, anchor) for anchor in anchors):
        return
    taken = [one for statement in moved if (one := layout.removed(stage.code, statement)) is not None]
    gated = stage.event(action.what)
    if len(taken) < len(moved) or gated is None:
        return
    if not all(stage.says_the_same(gated, one, anchor) for one in moved for anchor in anchors):
        return
    conditions = [_condition(stage, action, gated, moved, anchor) for anchor in anchors]
    gates = [one for one in moved if stage.is_gate(one, gated) or stage.counts(one)]
    bare = [line for one in alone for line in layout.lines_of(stage.code, one)]
    whole = [line for _, lines in taken for line in lines]
    for lines in [bare, whole] if gates else [whole]:  # another gate will do, or none; or it keeps its own
        made = [
            beside(stage, anchor, conditional(stage, condition, lines), bool(action.before))
            for anchor, condition in zip(anchors, conditions, strict=True)
            if condition is not None
        ]
        if len(made) == len(anchors):
            yield [*(change for change, _ in taken), *made]


def _condition(stage: Stage, action: Move, gated: Event, moved: list[Statement], anchor: Statement) -> str | None:
    """The condition that what is moved brings along to a place; None if its parts bring several."""
    every = {stage.condition(gated, one, anchor) for one in moved}
    if action.what is Kind.UPDATE and None in every:
        return None  # what is wrong is that the step does not stand under the gate
    conditions = {condition or "" for condition in every}
    return conditions.pop() if len(conditions) == 1 else None


def _anchors(stage: Stage, action: Move, moved: list[Statement]) -> list[Statement]:
    """Where what is moved has to stand: next to the event, and where another one happens in its place, under other run
    constants, next to that one too; behind the `if` that they are branches of, if it is not their gate."""
    kinds = action.before or action.after
    events = [one for one in (stage.event(kinds),) if one is not None]
    events += stage.elsewhere(action.what, kinds)
    found = dict.fromkeys(_anchor(stage, action, one, moved) for one in events)
    every = [one for one in found if one is not None]
    if len(every) < len(found) or any(stage.code.function(one) is not stage.code.function(moved[0]) for one in every):
        return []
    branches = stage.branching(events, every) if len(every) > 1 else None
    return [branches] if branches is not None else every


def _anchor(stage: Stage, action: Move, event: Event, moved: list[Statement]) -> Statement | None:
    anchor = stage.anchor(event, [] if action.inside else list(moved), twins=not action.inside)
    if action.inside:
        anchor = stage.code.statement(node) if (node := stage.node(event)) is not None else None
    return last_alike(stage, event.kind, anchor) if anchor is not None and action.after else anchor


def _is_bound_to(code: Code, moved: Statement, anchor: Statement) -> bool:
    """Whether a statement cannot leave its place for that of an anchor."""
    return code.inside(anchor, moved) or _is_read_elsewhere(code, moved, anchor)


def _goes_back_in(stage: Stage, anchor: Statement) -> bool:
    """Whether gradients are made inside a statement."""
    made = (one.site for one in stage.scene.events if one.kind is Kind.BACKWARD and one.site.path == stage.path)
    calls = (stage.code.at(site) for site in made)
    return any(call is not None and stage.code.inside(call, anchor) for call in calls)


def _is_commented_on(code: Code, statement: Statement) -> bool:
    """Whether a string stands above a statement, which would be left without what it comments on."""
    block = code.block(statement)
    at = block.index(statement)
    return at > 0 and _is_text(block[at - 1]) and (at > 1 or not isinstance(code.function(statement), cst.FunctionDef))


def _is_read_elsewhere(code: Code, moved: Statement, anchor: Statement) -> bool:
    """Whether what a statement binds would be bound under a new condition only, and is read outside of it."""
    bound = {
        word.value
        for one in every(moved)
        if isinstance(one, cst.AssignTarget)
        for word in every(one)
        if isinstance(word, cst.Name)
    }
    gates = [one for one in code.above(anchor) if isinstance(one, cst.If) and not code.inside(moved, one)]
    if not bound or not gates:
        return False
    return any(
        isinstance(one, cst.Name)
        and one.value in bound
        and not (code.inside(one, gates[-1]) or code.inside(one, moved))
        for one in every(code.function(moved))
    )
