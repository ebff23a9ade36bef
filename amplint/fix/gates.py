"""A gate that counts another micro-step, together with whatever else asks for the same place in the window.

Gradients that are reduced over the ranks on the boundary, a flush behind the loop, a counter of updates: what asks for
the old remainder, or for its name, moves with the gate; what only logs may stay. Where the ranks may be told by another
expression when to reduce, where something begins a window, or where what is set would be read before, nothing is
written.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import takewhile

import libcst as cst

from amplint.catalogue.remedy import CountFromOne
from amplint.dialects import vocabulary as words
from amplint.dialects.vocabulary import within
from amplint.fix.code import Change, Code, Statement, every
from amplint.fix.led import led, readers, sets_in_time
from amplint.fix.stage import Stage, remainders

_TELLS, _OF_RANKS = within(words.TELLING), within(words.REDUCING_LATER)


def count_from_one(stage: Stage, action: CountFromOne) -> Iterator[list[Change]]:
    """The gate's remainder, one more, with all that asks for it."""
    code, node = stage.code, stage.code.at(stage.site)
    test = node.test if isinstance(node, cst.If) else node
    if test is None:
        return
    for gate in _remainders(code, test):
        if not isinstance(gate.left, cst.Name | cst.Attribute) or gate.left.lpar:
            continue
        asked = [one for one in _asking(code, gate) if not _is_logged(code, one)]
        if _syncs_otherwise(code, gate, asked) or not _can_move(code, gate, test, asked):
            continue
        yield [_one_more(code, one) for one in (gate, *asked)]


def _can_move(code: Code, gate: cst.CSTNode, test: cst.CSTNode, asked: Sequence[cst.CSTNode]) -> bool:
    """Whether what all that moves leads can run in another turn: nothing that begins a window, and what it sets is set
    before it is read."""
    gates = led(code, [one for remainder in (gate, *asked) for one in readers(code, remainder)])
    told = [one for one in gates if one.orelse is None and all(_logs(code, line) for line in _suite(code, one))]
    gates = [one for one in gates if one not in told and not _speaks_of_ranks(code, one)]
    return not any(_is_ahead(code, one, test) for one in gates) and sets_in_time(code, gates)


def _is_ahead(code: Code, one: cst.If, test: cst.CSTNode) -> bool:
    """Whether a suite runs before the gate in a turn of the loop, or in a function where that is not known."""
    elsewhere = code.function(one) is not code.function(test)
    return elsewhere or (code.span(one)[0] < code.span(test)[0] and not code.inside(test, one.test))


def _remainders(code: Code, test: cst.CSTNode) -> Iterator[cst.BinaryOperation]:
    """The remainders in a test; of a name that it consists of, those of the only statement that sets it."""
    if isinstance(test, cst.Name):
        inside = list(every(code.function(test)))
        sets = [one for one in inside if isinstance(one, cst.Assign) and _sets(one, test)]
        targets = [one.target for one in inside if isinstance(one, cst.AssignTarget | cst.AugAssign | cst.For)]
        bound = sum(any(test.deep_equals(part) for part in every(target)) for target in targets)
        test = sets[0].value if len(sets) == bound == 1 else test
    yield from remainders(test)


def _sets(statement: cst.Assign, name: cst.Name) -> bool:
    return len(statement.targets) == 1 and name.deep_equals(statement.targets[0].target)


def _one_more(code: Code, remainder: cst.BinaryOperation) -> Change:
    start, end = code.span(remainder.left)
    return Change(start, end, f"({code.text[start:end]} + 1)")


# --- what asks for the same ------------------------------------------------------------------------------------------


def _asking(code: Code, gate: cst.BinaryOperation) -> Iterator[cst.BinaryOperation]:
    """The same remainder at other places where what it counts is the same."""
    for one in remainders(_scope(code, gate)):
        if one is not gate and one.deep_equals(gate) and not _is_counted_anew(code, one, gate):
            yield one


def _scope(code: Code, gate: cst.BinaryOperation) -> cst.CSTNode:
    """Where the counter of a gate is the same: its function, or for an attribute the whole file."""
    return code.function(gate) if isinstance(gate.left, cst.Name) else code.tree.module


def _is_counted_anew(code: Code, one: cst.CSTNode, gate: cst.BinaryOperation) -> bool:
    """Whether a place is in a loop of its own over the same name."""
    loops = (above for above in code.above(one) if isinstance(above, cst.For) and not code.inside(gate, above))
    return any(gate.left.deep_equals(target) for loop in loops for target in every(loop.target))


def _is_logged(code: Code, remainder: cst.CSTNode) -> bool:
    """Whether all that comes of a remainder is said to the user."""
    place = _led_by(code, remainder)
    if place is not None:
        return all(_logs(code, one) for one in _suite(code, place))
    statement = code.statement(remainder)
    return statement is not None and _logs(code, statement)


def _led_by(code: Code, node: cst.CSTNode) -> cst.If | None:
    """The `if` without another branch that a node is the test of, or in it."""
    above = next((one for one in code.above(node) if isinstance(one, cst.If | cst.BaseSmallStatement)), None)
    is_test = isinstance(above, cst.If) and code.inside(node, above.test) and above.orelse is None
    return above if isinstance(above, cst.If) and is_test else None


def _suite(code: Code, node: cst.If) -> list[cst.CSTNode]:
    """The statements of a suite, each by itself."""
    lines = node.body.body
    return [one for line in lines for one in (line.body if isinstance(line, cst.SimpleStatementLine) else [line])]


def _logs(code: Code, statement: cst.CSTNode) -> bool:
    """Whether a statement is a call that tells something."""
    if not isinstance(statement, cst.Expr) or not isinstance(statement.value, cst.Call):
        return False
    return any(isinstance(one, cst.Name) and _TELLS(one.value) for one in every(statement.value.func))


# --- what reduces over the ranks -------------------------------------------------------------------------------------


def _syncs_otherwise(code: Code, gate: cst.BinaryOperation, moved: list[cst.BinaryOperation]) -> bool:
    """Whether something that reads the counter, and neither moves with the gate nor asks for what the gate will, says
    when gradients are reduced."""
    loop = next((one for one in code.above(gate) if isinstance(one, cst.For | cst.While)), None)
    counters = _derived(code, gate, loop, [gate, *moved])
    later = f"({code.source(gate.left)} + 1) % {code.source(gate.right)}"
    for read in _reads(code, loop, [gate, *moved]) if loop is not None else ():
        said = _said_with(code, read) if code.source(read) in counters else None
        if said is None or not _speaks_of_ranks(code, said):
            continue
        if all(code.source(one) != later for one in remainders(said)):
            return True
    return False


def _reads(code: Code, node: cst.CSTNode, moved: list[cst.BinaryOperation]) -> Iterator[cst.BaseExpression]:
    """The names and attributes that are read in a node, and not in what moves."""
    if isinstance(node, cst.AssignTarget) or any(node is one for one in moved):
        return
    if isinstance(node, cst.Name | cst.Attribute):
        yield node
    for child in node.children:
        yield from _reads(code, child, moved)


def _derived(
    code: Code, gate: cst.BinaryOperation, loop: cst.CSTNode | None, moved: list[cst.BinaryOperation]
) -> set[str]:
    """The counter of a gate, and what a loop computes from it, other than what moves."""
    found = {code.source(gate.left)}
    for one in every(loop) if loop is not None else ():
        if isinstance(one, cst.Assign) and found & {code.source(read) for read in _reads(code, one.value, moved)}:
            found |= {code.source(target.target) for target in one.targets}
    return found


def _said_with(code: Code, node: cst.CSTNode) -> cst.CSTNode:
    """The statement that a node is read in, or the head of it."""
    inner = list(takewhile(lambda above: not isinstance(above, Statement | cst.BaseSuite), code.above(node)))
    above = next((one for one in code.above(node) if isinstance(one, Statement)), None)
    return above if isinstance(above, cst.BaseSmallStatement) else (inner or [node])[-1]


def _speaks_of_ranks(code: Code, node: cst.CSTNode) -> bool:
    return any(isinstance(one, cst.Name) and _OF_RANKS(one.value) for one in every(node))
