"""What a remedy comes to in a text: the changes of each way to do it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice, product, takewhile
from typing import Any

import libcst as cst

from amplint.catalogue.remedy import Delete, EndRegion, Gather, Hoist, Insert, Join, Move, Remedy, Rename, Ungate
from amplint.dialects.torch import TORCH
from amplint.findings import Finding
from amplint.fix import layout, rewriting
from amplint.fix.code import Change, Code, Statement, every
from amplint.fix.regions import end_region
from amplint.fix.renaming import rename
from amplint.fix.sentences import read, written
from amplint.fix.stage import Stage
from amplint.protocol.events import Event, Kind, Site

Changes = list[Change]
MOST_TRIED = 6  # ways of one remedy; each costs an analysis

_OF_SCALER = frozenset({Kind.UNSCALE, Kind.UPDATE})


def ways(code: Code, finding: Finding, remedy: Remedy, findings: Sequence[Finding] = ()) -> Iterator[Changes]:
    """The changes of every way of a remedy that can be written here. `findings`: all that is told of the file."""
    if finding.scene is None:
        return
    others = tuple(site_of(one) for one in findings if one.code == finding.code and one is not finding)
    stage = Stage(code, finding.filename, finding.scene, site_of(finding), others)
    for way in remedy.ways:
        parts = [list(islice(_DOING[type(action)](stage, action), MOST_TRIED)) for action in way]
        for chosen in islice(product(*parts), MOST_TRIED):
            yield [change for changes in chosen for change in changes]


def site_of(finding: Finding) -> Site:
    """Where a finding stands."""
    place = finding.place
    return Site(finding.filename, place.row, place.column, place.end_row, place.end_column)


# --- events that are missing -----------------------------------------------------------------------------------------


def _insert(stage: Stage, action: Insert) -> Iterator[Changes]:
    event = stage.event(action.before or action.after)
    backward = stage.event(Kind.BACKWARD)
    shared = [node for one in (backward,) if one is not None and (node := stage.node(one)) is not None]
    if event is None:
        return
    lifted = stage.anchor(event, shared, twins=bool(action.after))
    node = stage.node(event)
    here = stage.code.statement(node) if node is not None else None
    for anchor in dict.fromkeys((lifted, here)):
        if anchor is None:
            continue
        last = _last_alike(stage, event.kind, anchor) if action.after else anchor
        sentence = written(action.what, stage.names(last))
        lines = _under_its_condition(stage, action.what, last, sentence) if sentence is not None else []
        if lines and not _said_already(stage, last, lines[-1].strip()):
            yield [_beside(stage, last, lines, bool(action.before))]


def _said_already(stage: Stage, anchor: Statement, sentence: str) -> bool:
    """Whether the loop of a statement says it already, under another condition: somebody has thought of it."""
    code = stage.code
    loop = _nearest_loop(code, anchor)
    return loop is not None and any(
        isinstance(one, cst.Call) and code.source(one) == sentence and _nearest_loop(code, one) is loop
        for one in every(loop)
    )


def _nearest_loop(code: Code, node: cst.CSTNode) -> cst.CSTNode | None:
    return next((one for one in code.above(node) if isinstance(one, cst.For | cst.While | cst.FunctionDef)), None)


def _last_alike(stage: Stage, kind: Kind, anchor: Statement) -> Statement:
    """The last of several statements in a row that do the same to several objects, and the scaler's update with it."""
    block = stage.code.block(anchor)
    for other in block[block.index(anchor) + 1 :]:
        if not isinstance(other, cst.Expr) or not (read(kind, other.value) or read(Kind.UPDATE, other.value)):
            break
        anchor = other
    return anchor


def _under_its_condition(stage: Stage, kind: Kind, anchor: Statement, sentence: str) -> list[str]:
    """What is said to a scaler, under the condition under which the scaler steps; empty if that is not to be had."""
    scaled = stage.scaled(anchor)
    if kind not in _OF_SCALER or scaled is None:
        return [sentence]
    condition = stage.condition(*scaled, anchor)
    return [] if condition is None else _conditional(stage, condition, [sentence])


def _conditional(stage: Stage, condition: str, lines: list[str]) -> list[str]:
    """Lines under a condition, if there is one."""
    if not condition:
        return lines
    return [f"if {condition}:", *(f"{stage.code.tree.module.default_indent}{line}" for line in lines)]


def _beside(stage: Stage, anchor: Statement, lines: list[str], before: bool) -> Change:
    return layout.before(stage.code, anchor, lines) if before else layout.after(stage.code, anchor, lines)


# --- events at the wrong place ---------------------------------------------------------------------------------------


def _move(stage: Stage, action: Move) -> Iterator[Changes]:
    """The event moved, with those next to it that are as wrong; else alone."""
    moved = [found for kind in (action.what, *action.along) if (found := _statement(stage, kind)) is not None]
    first = _statement(stage, action.what)
    if first is None:
        return
    alike, branches = _alike(stage, first), _every_branch(stage, first)
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


def _alike(stage: Stage, statement: Statement) -> list[Statement]:
    """The statements in a row around one of which the rule says the same: they do it to other objects."""
    block = stage.code.block(statement)
    told = [one is statement or _is_as_wrong(stage, one) for one in block]
    at = block.index(statement)
    first = at - len(list(takewhile(bool, reversed(told[:at]))))
    return [one for one, _ in takewhile(lambda pair: pair[1], zip(block[first:], told[first:], strict=True))]


def _moved(stage: Stage, action: Move, moved: list[Statement]) -> Iterator[Changes]:
    event = stage.event(action.before or action.after)
    if event is None:
        return
    moved = sorted(moved, key=lambda one: stage.code.span(one)[0])
    for anchor in _anchors(stage, action, event, moved):
        if stage.code.function(anchor) is stage.code.function(moved[0]):
            yield from _moved_to(stage, action, event, anchor, moved)


def _anchors(stage: Stage, action: Move, event: Event, moved: list[Statement]) -> Iterator[Statement]:
    """The statements next to which others may be moved; inside of a loop first behind all branches of an `if`."""
    if not action.inside:
        lifted = stage.anchor(event, list(moved))
        yield from [lifted] if lifted is not None else []
        return
    node = stage.node(event)
    here = stage.code.statement(node) if node is not None else None
    loop = _nearest_loop(stage.code, here) if here is not None else None
    lifted = stage.anchor(event, [loop.body.body[0]]) if isinstance(loop, cst.For | cst.While) else None
    yield from dict.fromkeys(one for one in (lifted, here) if one is not None)


def _moved_to(stage: Stage, action: Move, event: Event, anchor: Statement, moved: list[Statement]) -> Iterator[Changes]:
    alone = list(dict.fromkeys(moved))
    moved = layout.together(stage.code, alone)
    if any(stage.code.inside(anchor, one) or _is_commented_on(stage.code, one) for one in moved):
        return
    if any(_is_read_elsewhere(stage.code, one, anchor) for one in moved):
        return
    if any(all(other in moved for other in stage.code.block(one)) for one in moved):
        return  # nothing would be left of its block, or of its loop
    if action.after:
        anchor = _last_alike(stage, event.kind, anchor)
    taken = [layout.removed(stage.code, one) for one in moved]
    if any(one is None for one in taken):
        return
    gated = stage.event(action.what) or event
    every = {stage.condition(gated, one, anchor) for one in moved}
    if action.what is Kind.UPDATE and None in every:
        return  # what is wrong is that the step does not stand under the gate
    conditions = {condition or "" for condition in every}
    if len(conditions) == 1:
        gates = [one for one in moved if stage.is_gate(one, gated) or stage.counts(one)]
        bare = [line for one in alone for line in layout.lines_of(stage.code, one)]
        whole = [line for one in taken if one is not None for line in one[1]]
        condition = conditions.pop()
        for lines in [bare, whole] if gates else [whole]:  # another gate will do, or none; or it keeps its own
            made = _beside(stage, anchor, _conditional(stage, condition, lines), bool(action.before))
            yield [*(one[0] for one in taken if one is not None), made]


def _gather(stage: Stage, action: Gather) -> Iterator[Changes]:
    """Every statement of the loop that is the event taken out, and one written behind all that it has to follow."""
    first, event = _statement(stage, action.what), stage.event(action.after)
    anchor = stage.anchor(event, [first]) if event is not None and first is not None else None
    if first is None or anchor is None or _nearest_loop(stage.code, anchor) is not _nearest_loop(stage.code, first):
        return
    gathered = [one for one in _of_kind(stage, action.what) if stage.code.source(one) == stage.code.source(first)]
    *others, last = sorted(gathered, key=lambda one: stage.code.span(one)[0])
    taken = layout.removed(stage.code, last)
    gone = [layout.deleted(stage.code, layout.together(stage.code, [one])[0]) for one in others]
    if taken is None or None in gone or any(stage.code.inside(anchor, one) for one in gathered):
        return
    yield [*(one for one in gone if one is not None), taken[0], layout.after(stage.code, anchor, taken[1])]


def _join(stage: Stage, action: Join) -> Iterator[Changes]:
    """The statement written behind the last one above it that is the other event, of the same scaler."""
    code, joined = stage.code, _statement(stage, action.what)
    loop = _nearest_loop(code, joined) if joined is not None else None
    if not isinstance(joined, cst.Expr) or loop is None:
        return
    scaler, taken = read(action.what, joined.value).get("scaler"), layout.removed(code, joined)
    above = [one for one in every(loop) if isinstance(one, cst.Expr) and code.span(one)[0] < code.span(joined)[0]]
    to = [one for one in above if scaler and read(action.to, one.value).get("scaler") == scaler]
    if to and taken is not None:
        yield [layout.after(code, to[-1], taken[1]), taken[0]]


def _of_kind(stage: Stage, kind: Kind) -> list[Statement]:
    """The statements of the finding's loop that are an event of the same scaler or optimizer."""
    loop, code = _nearest_loop(stage.code, stage.code.at(stage.site) or stage.code.tree.module), stage.code
    calls = [node for one in stage.scene.events if one.kind is kind and (node := stage.node(one)) is not None]
    found = [code.statement(call) for call in calls if _nearest_loop(code, call) is loop]
    return [one for one in dict.fromkeys(found) if isinstance(one, cst.Expr)]


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


def _statement(stage: Stage, kind: Kind) -> Statement | None:
    """The statement that is an event and nothing else, or assigns what its call returns."""
    event = stage.event(kind)
    node = stage.node(event) if event is not None else None
    found = stage.code.statement(node) if node is not None else None
    if node is None or (kind in TORCH.sentences and not read(kind, node)):
        return None
    if found is node or (isinstance(found, cst.Expr | cst.Assign | cst.AugAssign) and found.value is node):
        return found
    return None


def _delete(stage: Stage, action: Delete) -> Iterator[Changes]:
    event, found = stage.event(action.what), _statement(stage, action.what)
    if event is None or (action.only and action.only not in event.detail):
        return
    if isinstance(found, cst.Expr | cst.Assign):
        (found,) = layout.together(stage.code, [found])
        gone = layout.deleted(stage.code, found)
        if gone is not None:
            yield [gone]


def _ungate(stage: Stage, action: Ungate) -> Iterator[Changes]:
    """What stands first in the body of an `if`, written before it; in place of it, if it is all that it holds."""
    event, found = stage.event(action.what), _statement(stage, action.what)
    if found is None or event is None or event.gate is None:
        return
    gates = [one for one in stage.code.above(found) if stage.is_gate(one, event)]
    gate = stage.code.statement(gates[0]) if gates else None
    block = stage.code.block(found)
    if not isinstance(gate, cst.If) or gate.orelse is not None or block[0] is not found:
        return
    if not any(one is gate for one in islice(stage.code.above(found), 3)):
        return
    if len(block) == 1:  # the rest of its line is its comment
        head = Change(stage.code.span(gate)[0], stage.code.span(found)[0], "")
        if "#" not in stage.code.text[stage.code.span(gate.test)[1] : head.end]:
            yield [head]
        return
    taken = layout.removed(stage.code, found)
    if taken is not None:
        yield [layout.before(stage.code, gate, taken[1]), taken[0]]


def _hoist(stage: Stage, action: Hoist) -> Iterator[Changes]:
    """What is made at the finding, made before the outermost loop of its function that it stands in."""
    node = stage.code.at(stage.site)
    found = stage.code.statement(node) if node is not None else None
    if not isinstance(found, cst.Assign) or found.value is not node:
        return
    function = stage.code.function(found)
    loops = [one for one in stage.code.above(found) if isinstance(one, cst.For | cst.While)]
    loops = [one for one in loops if stage.code.function(one) is function]
    taken = layout.removed(stage.code, found)
    if loops and taken is not None:
        yield [taken[0], layout.before(stage.code, loops[-1], taken[1])]


_DOING: dict[type, Callable[[Stage, Any], Iterator[Changes]]] = {
    Insert: _insert,
    Move: _move,
    Gather: _gather,
    Join: _join,
    Delete: _delete,
    Hoist: _hoist,
    Ungate: _ungate,
    EndRegion: end_region,
    **rewriting.DOING,
    Rename: rename,
}
