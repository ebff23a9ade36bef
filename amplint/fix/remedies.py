"""What a remedy comes to in a text: the changes of each way to do it."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from itertools import islice, product, takewhile
from typing import Any

import libcst as cst

from amplint.catalogue.remedy import (
    Action,
    CountFromOne,
    Delete,
    EndRegion,
    Gather,
    Hoist,
    Insert,
    Join,
    Move,
    Remedy,
    Rename,
    Ungate,
)
from amplint.findings import Finding
from amplint.fix import layout, rewriting
from amplint.fix.code import Change, Code, Statement, every
from amplint.fix.gates import count_from_one
from amplint.fix.moving import move
from amplint.fix.placing import beside, conditional, last_alike
from amplint.fix.reading import read_later
from amplint.fix.regions import end_region
from amplint.fix.renaming import rename
from amplint.fix.runs import Run
from amplint.fix.sentences import read, written
from amplint.fix.stage import Stage
from amplint.protocol.events import STEPS, Event, Kind, Site

Changes = list[Change]
MOST_TRIED = 6  # ways of one remedy; each costs an analysis

_OF_SCALER = frozenset({Kind.UNSCALE, Kind.UPDATE})


Written = tuple[tuple[Action, ...], Changes]
"""A way of a remedy, and the changes that it comes to."""


def ways(
    code: Code,
    finding: Finding,
    remedy: Remedy,
    findings: Sequence[Finding] = (),
    runs: Callable[[], Sequence[Run]] = tuple,
) -> Iterator[Written]:
    """Every way of a remedy that can be written here. `findings`: all that is told of the file, `runs`: what happens
    in it."""
    if finding.scene is None:
        return
    others = tuple(site_of(one) for one in findings if one.code == finding.code and one is not finding)
    stage = Stage(code, finding.filename, finding.scene, site_of(finding), others, runs)
    for way in _in_turn(stage, remedy):
        parts = [list(islice(_DOING[type(action)](stage, action), MOST_TRIED)) for action in way]
        for chosen in islice(product(*parts), MOST_TRIED):
            yield way, [change for changes in chosen for change in changes]


def _in_turn(stage: Stage, remedy: Remedy) -> Sequence[tuple[Action, ...]]:
    """The ways of a remedy, the better first: where another optimizer steps too, its loss may fill these gradients
    after their step, so that they are zeroed before their backward, if they can be."""
    zeroes = all(isinstance(one, Insert) and one.what is Kind.ZERO_GRAD for way in remedy.ways for one in way)
    if not zeroes:
        return remedy.ways
    steppers = {event.optimizer for run in stage.runs() for event in run if event.kind in STEPS}
    return remedy.ways[::-1] if len(steppers) > 1 else remedy.ways


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
    node = stage.node(event)
    here = stage.code.statement(node) if node is not None else None
    anchors = [stage.anchor(event, shared, twins=bool(action.after)), here]
    if action.what is Kind.UPDATE and (last_step := _last_of_turn(stage, event)) is not None:
        anchors = [stage.anchor(last_step, shared), *anchors]
    if action.what is Kind.ZERO_GRAD and action.before:
        anchors = [
            _first_of_turn(stage, event)
        ]  # what goes back twice for one step, or in either branch, does so behind
    for anchor in dict.fromkeys(anchors):
        if anchor is None:
            continue
        last = last_alike(stage, event.kind, anchor) if action.after else anchor
        if action.what is Kind.ZERO_GRAD and action.after and read_later(stage, last):
            continue
        sentence = written(action.what, stage.names(last))
        lines = _under_its_condition(stage, action.what, last, sentence) if sentence is not None else []
        if lines and not _said_already(stage, last, lines[-1].strip()):
            yield [beside(stage, last, lines, bool(action.before))]


def _first_of_turn(stage: Stage, event: Event) -> Statement | None:
    """The statement in the body of the step's loop that is the first to do what an event does, or holds it."""
    step = stage.event((Kind.SCALER_STEP, Kind.STEP))
    stepping = stage.node(step) if step is not None else None
    loop = _nearest_loop(stage.code, stepping) if stepping is not None else None
    nodes = [found for one in stage.scene.events if one.kind is event.kind and (found := stage.node(one)) is not None]
    inside = [one for one in nodes if loop is not None and stage.code.inside(one, loop)]
    if not inside:
        return None
    apart = [one for one in inside if stepping is None or not stage.code.exclude(one, stepping)]
    first = min(apart or inside, key=lambda one: stage.code.span(one)[0])
    around = takewhile(lambda one: one is not loop, (first, *stage.code.above(first)))
    within = takewhile(lambda one: not _leaves_out(stage, one, stepping), around)
    return [one for one in within if isinstance(one, Statement)][-1]


def _leaves_out(stage: Stage, node: cst.CSTNode, stepping: cst.CSTNode | None) -> bool:
    """Whether a node is an `if` of which one branch steps and another one does not step the same optimizer."""
    optimizer = read(Kind.STEP, stepping).get("optimizer") if stepping is not None else None
    if optimizer is None or not isinstance(node, cst.If) or not any(one is stepping for one in every(node)):
        return False
    branches = [node.body, *([node.orelse] if node.orelse is not None else [])]
    return not all(any(read(Kind.STEP, one).get("optimizer") == optimizer for one in every(at)) for at in branches)


def _last_of_turn(stage: Stage, step: Event) -> Event | None:
    """The last step of a scaler in the loop that one of its steps stands in, by whichever optimizer; None where it is
    that one."""
    code, node = stage.code, stage.node(step)
    loop = _nearest_loop(code, node) if node is not None else None
    alike = [one for run in stage.runs() for one in run if (one.kind, one.scaler) == (step.kind, step.scaler)]
    found = [(one, other) for one in alike if one.site.path == stage.path and (other := stage.node(one)) is not None]
    near = [(code.span(other)[0], one) for one, other in found if _nearest_loop(code, other) is loop]
    last = max(near, key=lambda pair: pair[0], default=(0, step))[1]
    return last if last.site != step.site else None


def _said_already(stage: Stage, anchor: Statement, sentence: str) -> bool:
    """Whether the loop of a statement says it already, under another condition: somebody has thought of it. What is
    said in another branch is not."""
    code = stage.code
    loop = _nearest_loop(code, anchor)
    return loop is not None and any(
        isinstance(one, cst.Call) and code.source(one) == sentence and _nearest_loop(code, one) is loop
        for one in every(loop)
        if not code.exclude(one, anchor)
    )


def _nearest_loop(code: Code, node: cst.CSTNode) -> cst.CSTNode | None:
    return next((one for one in code.above(node) if isinstance(one, cst.For | cst.While | cst.FunctionDef)), None)


def _under_its_condition(stage: Stage, kind: Kind, anchor: Statement, sentence: str) -> list[str]:
    """What is said to a scaler, under the condition under which the scaler steps; empty if that is not to be had."""
    if kind not in _OF_SCALER or stage.scaled(anchor) is None:
        return [sentence]
    for one in (Kind.SCALER_STEP, Kind.BACKWARD):  # what was scaled may be unscaled, whether it is stepped or not
        scaled = stage.scaled(anchor, (one,))
        condition = stage.condition(*scaled, anchor) if scaled and stage.says_the_same(*scaled, anchor) else None
        if condition is not None:
            return conditional(stage, condition, [sentence])
    return []


# --- events at the wrong place ----------------------------------------------------------------------------------------


def _gather(stage: Stage, action: Gather) -> Iterator[Changes]:
    """Every statement of the loop that is the event taken out, and one written behind all that it has to follow."""
    first, event = stage.statement(action.what), stage.event(action.after)
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
    """The statement written behind the last one above it that is the other event, of the same scaler, in its own loop:
    inside of another one it would happen once a turn."""
    code, joined = stage.code, stage.statement(action.what)
    loop = _nearest_loop(code, joined) if joined is not None else None
    if not isinstance(joined, cst.Expr) or loop is None:
        return
    scaler, taken = read(action.what, joined.value).get("scaler"), layout.removed(code, joined)
    above = [one for one in every(loop) if isinstance(one, cst.Expr) and code.span(one)[0] < code.span(joined)[0]]
    to = [one for one in above if scaler and read(action.to, one.value).get("scaler") == scaler]
    if to and taken is not None and _nearest_loop(code, to[-1]) is loop:
        yield [layout.after(code, to[-1], taken[1]), taken[0]]


def _of_kind(stage: Stage, kind: Kind) -> list[Statement]:
    """The statements of the finding's loop that are an event of the same scaler or optimizer."""
    loop, code = _nearest_loop(stage.code, stage.code.at(stage.site) or stage.code.tree.module), stage.code
    calls = [node for one in stage.scene.events if one.kind is kind and (node := stage.node(one)) is not None]
    found = [code.statement(call) for call in calls if _nearest_loop(code, call) is loop]
    return [one for one in dict.fromkeys(found) if isinstance(one, cst.Expr)]


def _delete(stage: Stage, action: Delete) -> Iterator[Changes]:
    event, found = stage.event(action.what), stage.statement(action.what)
    if event is None or (action.only and action.only not in event.detail):
        return
    if isinstance(found, cst.Expr | cst.Assign):
        (found,) = layout.together(stage.code, [found])
        gone = layout.deleted(stage.code, found)
        if gone is not None:
            yield [gone]


def _ungate(stage: Stage, action: Ungate) -> Iterator[Changes]:
    """What stands first in the body of an `if`, written before it; in place of it, if it is all that it holds."""
    event, found = stage.event(action.what), stage.statement(action.what)
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
    Move: move,
    Gather: _gather,
    Join: _join,
    Delete: _delete,
    Hoist: _hoist,
    Ungate: _ungate,
    EndRegion: end_region,
    CountFromOne: count_from_one,
    **rewriting.DOING,
    Rename: rename,
}
