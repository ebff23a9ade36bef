"""Calls and expressions written anew: another call of the same objects, a division, another argument."""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator
from typing import Any

import libcst as cst

from amplint.catalogue.remedy import (
    AddArgument,
    AtBoundary,
    ByModel,
    Detach,
    Divide,
    DropArgument,
    EnterBoth,
    Respell,
    Through,
    Undivide,
    Unwrap,
)
from amplint.dialects import vocabulary as words
from amplint.dialects.vocabulary import within
from amplint.fix import layout
from amplint.fix.code import Change, Code, every
from amplint.fix.sentences import read, written
from amplint.fix.spellings import spellings
from amplint.fix.stage import Stage, remainders
from amplint.fix.totals import detach
from amplint.protocol.events import Kind
from amplint.protocol.ranks import Wrapper

Changes = list[Change]
_LOSS = within(words.LOSS)
_SIMPLE = (cst.Name, cst.Attribute, cst.Subscript, cst.Call, cst.Integer)


def _respell(stage: Stage, action: Respell) -> Iterator[Changes]:
    event = stage.event(action.what)
    node = stage.node(event) if event is not None else None
    if node is None:
        return
    sentence = written(action.into, {**stage.names(node), **read(action.what, node)})
    condition = _condition_of_scaler(stage, node, action.into is not Kind.SCALE)
    if sentence is None or condition is None:
        return
    if not condition:
        yield [Change(*stage.code.span(node), sentence)]
        return
    statement = stage.code.statement(node)
    if isinstance(statement, cst.Expr) and statement.value is node:
        yield from _as_twins(stage, statement, condition, sentence)


def _condition_of_scaler(stage: Stage, node: cst.CSTNode, gated: bool) -> str | None:
    """The condition under which the scaler is used, and a call is not: without it, it may not be there at all."""
    scaled = stage.scaled(node)
    return "" if scaled is None else stage.condition(*scaled, node, gated)


def _as_twins(stage: Stage, statement: cst.Expr, condition: str, sentence: str) -> Iterator[Changes]:
    """A statement that is now written under a condition, and as it was otherwise."""
    code = stage.code
    start, end = code.span(statement)
    row = code.row(start)
    line = code.parents[statement]
    if not isinstance(line, cst.SimpleStatementLine) or len(line.body) > 1:
        return
    update = written(Kind.UPDATE, stage.names(statement))
    says_update = update is None or update in code.source(code.function(statement))
    more = [] if says_update or update is None or ".step(" not in sentence else [update]
    inner = code.tree.module.default_indent
    lines = [f"if {condition}:", *(inner + one for one in (sentence, *more)), "else:", inner + code.text[start:end]]
    yield [Change(start, end, (code.line_end(row) + code.margin(row)).join(lines))]


# --- division by the window ------------------------------------------------------------------------------------------


def _divide(stage: Stage, action: Divide) -> Iterator[Changes]:
    """The loss divided in its backward, or where it is handed to whoever back-propagates it."""
    event = stage.event(Kind.BACKWARD)
    node = stage.code.at(stage.site)
    if event is None or not isinstance(node, cst.Call):
        return
    loss = _loss_of(node)
    if loss is not None:
        for length in _lengths(stage, node):
            yield [_divided(stage.code, loss, length)]


def _loss_of(call: cst.Call) -> cst.BaseExpression | None:
    """The loss in a call that back-propagates it: `loss.backward()`, `scaler.scale(loss).backward()`, `step(loss)`."""
    func = call.func
    if isinstance(func, cst.Attribute) and func.attr.value == "backward" and not call.args:
        inner = func.value
        if isinstance(inner, cst.Call) and isinstance(inner.func, cst.Attribute) and inner.args:
            return inner.args[0].value if inner.func.attr.value == "scale" else inner
        return inner
    named = [arg.value for arg in call.args if _LOSS(cst.Module([]).code_for_node(arg.value))]
    return named[0] if named else None


def _divided(code: Code, loss: cst.BaseExpression, length: str) -> Change:
    start, end = code.span(loss)
    source = code.text[start:end]
    if not isinstance(loss, _SIMPLE):
        source = f"({source})"
    above = code.parents[loss]
    quotient = f"{source} / {length}"
    return Change(start, end, f"({quotient})" if isinstance(above, cst.Attribute) and not loss.lpar else quotient)


def _lengths(stage: Stage, near: cst.CSTNode) -> Iterator[str]:
    """How the window's length can be written at a node: as its gate does, else as the message says.

    What another gate of the function asks for is tried only where what the message says cannot be written there.
    """
    said = dict(stage.scene.words).get("n", "")
    gates = list(dict.fromkeys(_gated_by(stage, near)))
    named = [text for text in gates if text.split(".")[-1] == said.split(".")[-1]]
    spelled = spellings(stage.code, said, near)
    if named or spelled:
        yield from named or sorted(spelled)[: len(spelled) == 1]
    else:
        yield from [*gates, said] if said.isdecimal() and said not in gates else gates


def _gated_by(stage: Stage, near: cst.CSTNode) -> Iterator[str]:
    """The lengths of the windows that the gates of a node's function ask for."""
    code = stage.code
    for one in stage.scene.events:
        gate = one.gate.site if one.gate is not None and one.gate.site.path == stage.path else None
        test = code.at(gate) if gate is not None else None
        if test is None or code.function(test) is not code.function(near):
            continue
        for remainder in remainders(test.test if isinstance(test, cst.If) else test):
            text = code.source(remainder.right)
            yield text if isinstance(remainder.right, _SIMPLE) else f"({text})"


def _undivide(stage: Stage, action: Undivide) -> Iterator[Changes]:
    """Every division by the window before the backward, taken out: the nearest first."""
    node = stage.code.at(stage.site)
    said = dict(stage.scene.words).get("n", "")
    if node is None:
        return
    code, end = stage.code, stage.code.span(node)[1]
    function = code.function(node)
    every = sorted(_divisions(function), key=lambda one: -code.span(one)[0])
    earlier = [one for one in every if code.span(one)[0] < end]
    named = [one for one in earlier if _last(code, one) == said.split(".")[-1]]
    for one in named or [one for one in earlier if _is_of_a_loss(code, one)]:
        statement = code.statement(one)
        if isinstance(one, cst.AugAssign) or (isinstance(statement, cst.Assign) and _changes_itself(statement, one)):
            gone = layout.deleted(code, statement) if statement is not None else None
            if gone is not None:
                yield [gone]
        elif isinstance(one, cst.BinaryOperation):
            yield [Change(code.span(one.left)[1], code.span(one.right)[1], "")]


def _divisions(node: cst.CSTNode) -> Iterator[cst.BinaryOperation | cst.AugAssign]:
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Divide):
        yield node
    if isinstance(node, cst.AugAssign) and isinstance(node.operator, cst.DivideAssign):
        yield node
    for child in node.children:
        yield from _divisions(child)


def _last(code: Code, division: cst.BinaryOperation | cst.AugAssign) -> str:
    """The last part of what something is divided by."""
    divisor = division.right if isinstance(division, cst.BinaryOperation) else division.value
    return code.source(divisor).split(".")[-1]


def _is_of_a_loss(code: Code, division: cst.BinaryOperation | cst.AugAssign) -> bool:
    """Whether it is a loss by its name that is divided, or becomes one."""
    divided = [division.left if isinstance(division, cst.BinaryOperation) else division.target]
    statement = code.statement(division)
    if isinstance(statement, cst.Assign) and statement.value is division:
        divided += [one.target for one in statement.targets]
    return any(_LOSS(code.source(one)) for one in divided)


def _changes_itself(statement: cst.Assign, division: cst.CSTNode) -> bool:
    """Whether an assignment does nothing but divide what its target holds."""
    if statement.value is not division or not isinstance(division, cst.BinaryOperation) or len(statement.targets) > 1:
        return False
    return statement.targets[0].target.deep_equals(division.left)


# --- arguments, owners, gates ----------------------------------------------------------------------------------------


def _drop_argument(stage: Stage, action: DropArgument) -> Iterator[Changes]:
    call = stage.code.at(stage.site)
    args = list(call.args) if isinstance(call, cst.Call) else []
    for at, arg in enumerate(args):
        if arg.keyword is not None and arg.keyword.value == action.name:
            start, end = stage.code.span(arg)[0], stage.code.span(arg.value)[1]
            if at > 0:
                start = stage.code.span(args[at - 1].value)[1]
            elif len(args) > 1:
                end = stage.code.span(args[1])[0]
            yield [Change(start, end, "")]


def _add_argument(stage: Stage, action: AddArgument) -> Iterator[Changes]:
    """The argument put first among keywords, where there is no positional one, and no condition that asks for what the
    argument says: in one of its branches that is something else."""
    code, call = stage.code, stage.code.at(stage.site)
    name, _, value = action.argument.partition("=")
    if not isinstance(call, cst.Call) or any(arg.keyword is None or arg.keyword.value == name for arg in call.args):
        return
    tests = (one.test for one in code.above(call) if isinstance(one, cst.If | cst.IfExp))
    if any(value.strip("\"'") in code.source(test) for test in tests):
        return
    at = stage.code.span(call.args[0])[0] if call.args else stage.code.span(call)[1] - 1
    yield [Change(at, at, f"{action.argument}, " if call.args else action.argument)]


def _enter_both(stage: Stage, action: EnterBoth) -> Iterator[Changes]:
    """`with autocast() and no_grad():` as `with autocast(), no_grad():`."""
    code, call = stage.code, stage.code.at(stage.site)
    both = code.parents.get(call) if call is not None else None
    if not isinstance(both, cst.BooleanOperation) or both.left is not call or both.lpar:
        return
    if isinstance(both.operator, cst.And) and isinstance(code.parents[both], cst.WithItem):
        yield [Change(code.outer(both.left)[1], code.outer(both.right)[0], ", ")]


def _unwrap(stage: Stage, action: Unwrap) -> Iterator[Changes]:
    call = stage.code.at(stage.site)
    func = call.func if isinstance(call, cst.Call) else None
    if isinstance(func, cst.Attribute) and func.attr.value == action.attribute:
        yield [Change(stage.code.span(func.value)[1], stage.code.span(func)[1], "")]


def _by_model(stage: Stage, action: ByModel) -> Iterator[Changes]:
    """`clip_grad_norm_(model.parameters(), 1.0)` as `model.clip_grad_norm_(1.0)`, if the model has that method under
    all settings."""
    call = stage.code.at(stage.site)
    if not isinstance(call, cst.Call) or not call.args or call.args[0].star:
        return
    wrappers = {event.wrapper for run in stage.runs() for event in run if event.site == stage.site}
    named = {one.keyword.value for one in call.args if one.keyword is not None}
    if not wrappers <= {Wrapper.SHARDED} or not named <= {"max_norm", "norm_type"}:
        return
    given = call.args[0].value
    if not isinstance(given, cst.Call) or given.args or not isinstance(given.func, cst.Attribute):
        return
    name = call.func.attr.value if isinstance(call.func, cst.Attribute) else call.func
    name = name.value if isinstance(name, cst.Name) else name
    code = stage.code
    rest = code.text[code.span(call.args[1])[0] : code.span(call)[1]] if len(call.args) > 1 else ")"
    if given.func.attr.value == "parameters" and name in ("clip_grad_norm_", "clip_grad_norm"):
        yield [Change(*code.span(call), f"{code.source(given.func.value)}.clip_grad_norm_({rest}")]


def _through(stage: Stage, action: Through) -> Iterator[Changes]:
    """A call of torch as one of the framework, under the name that its object has in this function; one that does not
    take what torch's takes is left to the user, and so are several clips, of which the first makes the others right.
    All backwards of a window go together: else some of its gradients were scaled and others not."""
    call = stage.code.at(stage.site)
    due, _, taken = dict(stage.scene.words).get(action.word, "").partition("(")
    owner, _, method = due.rpartition(".")
    clips = {one.site for one in stage.scene.events if one.kind is Kind.CLIP and "through" not in one.detail}
    if not isinstance(call, cst.Call) or not owner or taken == "max_norm)" or (method != "backward" and len(clips) > 1):
        return
    code = stage.code
    for name in _named_like(code, owner, call):
        if method != "backward":
            yield [Change(*code.span(call.func), f"{name}.{method}")]
        elif changes := _backwards(stage, call, name):
            yield changes


def _backwards(stage: Stage, call: cst.Call, name: str) -> Changes:
    """The backward of a finding, and all others of its window that are torch's, as those of a framework's object; none
    where one of them is out of reach."""
    code = stage.code
    raw = [one for one in stage.scene.events if one.kind is Kind.BACKWARD and "through" not in one.detail]
    others = [code.at(one.site) if one.site.path == stage.path else None for one in raw if one.site != stage.site]
    changes: Changes = []
    for node in (call, *dict.fromkeys(others)):
        if not isinstance(node, cst.Call) or not isinstance(node.func, cst.Attribute) or node.args:
            return []
        if node.func.attr.value != "backward" or code.function(node) is not code.function(call):
            return []
        changes.append(Change(*code.span(node), f"{name}.backward({code.source(node.func.value)})"))
    return changes


def _named_like(code: Code, owner: str, near: cst.CSTNode) -> Iterator[str]:
    """The names that a framework's object may have in the function of a node."""
    named = rf"(?<![\w.])(?:self\.)?\w*{re.escape(owner.split('.')[-1])}(?=\.)"
    start, end = code.span(code.function(near))
    yield from dict.fromkeys(re.findall(named, code.text[start:end]))


def _at_boundary(stage: Stage, action: AtBoundary) -> Iterator[Changes]:
    """The statement put under an `if`, its comment above it as before."""
    code, node = stage.code, stage.code.at(stage.site)
    statement = code.statement(node) if node is not None else None
    owner, _, test = dict(stage.scene.words).get(action.word, "").rpartition(".")
    if not isinstance(statement, cst.Expr) or not owner:
        return
    for name in _named_like(code, owner, statement):
        changes = _asked_too(code, statement, f"{name}.{test}") or _wrapped(code, statement, f"{name}.{test}")
        if changes:
            yield changes


def _asked_too(code: Code, statement: cst.Expr, test: str) -> Changes:
    """The `if` of which a statement is all, with one more condition; none where there is no such `if`."""
    above = [one for one in itertools.islice(code.above(statement), 3) if isinstance(one, cst.If)]
    if not above or code.block(statement) != [statement] or above[0].orelse is not None:
        return []
    known = above[0].test
    start, end = code.outer(known)
    simple = isinstance(known, (*_SIMPLE, cst.Comparison)) or known.lpar
    if simple or (isinstance(known, cst.BooleanOperation) and isinstance(known.operator, cst.And)):
        return [Change(start, start, f"{test} and ")]
    return [Change(start, start, f"{test} and ("), Change(end, end, ")")]


def _wrapped(code: Code, statement: cst.Expr, test: str) -> Changes:
    """A statement on lines of its own, put under an `if`; none for another one."""
    start, end = code.span(statement)
    row, last = code.row(start), code.row(end)
    texts = [one for one in every(statement) if isinstance(one, cst.SimpleString | cst.FormattedString)]
    alone = code.text[code.starts[row] : start].strip() == "" and not isinstance(statement.semicolon, cst.Semicolon)
    if not alone or any(code.row(code.span(one)[0]) != code.row(code.span(one)[1]) for one in texts):
        return []
    inner, margin = code.tree.module.default_indent, code.margin(row)
    rest = [Change(code.starts[one], code.starts[one], inner) for one in range(row + 1, last + 1)]
    return [Change(start, start, f"if {test}:{code.line_end(row)}{margin}{inner}"), *rest]


DOING: dict[type, Callable[[Stage, Any], Iterator[Changes]]] = {
    Respell: _respell,
    Divide: _divide,
    Undivide: _undivide,
    Detach: detach,
    AddArgument: _add_argument,
    DropArgument: _drop_argument,
    EnterBoth: _enter_both,
    Unwrap: _unwrap,
    ByModel: _by_model,
    Through: _through,
    AtBoundary: _at_boundary,
}
