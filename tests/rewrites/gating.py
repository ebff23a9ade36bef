"""The gate of the step is written in another way."""

from __future__ import annotations

import ast

from tests.rewrites.events import STEPS, gates, is_event, loops
from tests.rewrites.scopes import Scope, bound, loaded, magical, uses
from tests.rewrites.writing import Program, Rewrite, expression, fresh, name, statements, stood


def variable(program: Program) -> bool:
    """The test is a variable."""
    made = fresh(program.tree, "ready")
    for _, block, at in list(gates(program.tree)):
        gate = block[at]
        if isinstance(gate, ast.If) and not isinstance(gate.test, ast.Name):
            assignment = ast.Assign([name(made, True)], gate.test)
            stood(gate, assignment)
            gate.test = name(made)
            block.insert(at, assignment)
            return True
    return False


def early_variable(program: Program) -> bool:
    """The test is a variable that the micro-step begins with, where it reads nothing that the micro-step binds."""
    made = fresh(program.tree, "ready")
    for _, block, at in list(loops(program.tree)):
        loop = block[at]
        assert isinstance(loop, ast.For)
        for each in loop.body:
            if not _plain_gate(each) or loaded([each.test]) & bound(loop.body):
                continue
            if any(isinstance(node, (ast.Attribute, ast.Call, ast.Subscript)) for node in ast.walk(each.test)):
                continue
            assignment = ast.Assign([name(made, True)], each.test)
            stood(each, assignment)
            each.test = name(made)
            loop.body.insert(0, assignment)
            return True
    return False


def inverted(program: Program) -> bool:
    """Micro-steps that are not the last of a window go on with the next; what stood under the gate stands behind."""
    for _, block, at in list(loops(program.tree)):
        loop = block[at]
        if isinstance(loop, ast.For) and _plain_gate(gate := loop.body[-1]):
            skipped = ast.If(_negated(gate.test), [ast.Continue()], [])
            stood(gate, skipped)
            loop.body[-1:] = [skipped, *gate.body]
            return True
    return False


def in_else(program: Program) -> bool:
    """What stood under the gate stands under the `else` of the opposite."""
    for _, block, at in list(gates(program.tree)):
        gate = block[at]
        if isinstance(gate, ast.If):
            gate.test, gate.body, gate.orelse = _negated(gate.test), [ast.Pass()], gate.body
            stood(gate, gate)
            return True
    return False


def conditional(program: Program) -> bool:
    """The test is a variable that an `if` sets."""
    made = fresh(program.tree, "ready")
    for _, block, at in list(gates(program.tree)):
        gate = block[at]
        if not isinstance(gate, ast.If):
            continue
        text = f"{made} = False\nif {ast.unparse(gate.test)}:\n    {made} = True"
        gate.test = name(made)
        block[at:at] = statements(text, gate)
        return True
    return False


def nested(program: Program) -> bool:
    """The parts of the test stand in one `if` each."""
    for _, block, at in list(gates(program.tree)):
        gate = block[at]
        if isinstance(gate, ast.If) and isinstance(gate.test, ast.BoolOp) and isinstance(gate.test.op, ast.And):
            *outer, last = gate.test.values
            body = gate.body
            for test in (last, *reversed(outer[1:])):
                body = [ast.If(test, body, [])]
                stood(gate, *body)
            gate.test, gate.body = outer[0], body
            return True
    return False


def arithmetic(program: Program) -> bool:
    """The remainder is compared in another way: turned round, or taken as a truth value."""

    class Turning(ast.NodeTransformer):
        done = False

        def visit_Compare(self, node: ast.Compare) -> ast.expr:
            zero = isinstance(node.comparators[0], ast.Constant) and node.comparators[0].value == 0
            if len(node.ops) > 1 or not _remainder(node.left) or not zero:
                return node
            if isinstance(node.ops[0], ast.Eq):
                self.done = True
                return ast.UnaryOp(ast.Not(), node.left)
            if isinstance(node.ops[0], ast.NotEq):
                self.done = True
                return ast.Compare(node.comparators[0], [ast.Lt()], [node.left])
            return node

    turning = Turning()
    for _, block, at in list(gates(program.tree)):
        gate = block[at]
        if isinstance(gate, ast.If) and not turning.done:
            gate.test = turning.visit(gate.test)
    return turning.done


def counted(holder: str) -> Rewrite:
    """The index of the loop is counted by hand: in a variable, a dict, a list, or an object."""

    def rewrite(program: Program) -> bool:
        tree = program.tree
        if magical(tree):
            return False
        for scope, block, at in list(loops(tree)):
            loop = block[at]
            assert isinstance(loop, ast.For)
            index = _enumerated(loop)
            if index is None or not _alone(tree, scope, loop, index):
                continue
            assert isinstance(loop.iter, ast.Call)
            assert isinstance(loop.target, ast.Tuple)
            box, owner = fresh(tree, "ticks"), fresh(tree, "Ticks")
            written = {"variable": box, "dict": f"{box}['count']", "list": f"{box}[0]", "object": f"{box}.count"}[
                holder
            ]
            start = _start(loop.iter)
            made = {
                "variable": f"{box} = {start} - 1",
                "dict": f"{box} = {{'count': {start} - 1}}",
                "list": f"{box} = [{start} - 1]",
                "object": f"{box} = {owner}({start} - 1)",
            }[holder]
            _read_elsewhere(tree, index, written)
            raised = statements(f"{box}.advance()" if holder == "object" else f"{written} += 1", loop)
            loop.target, loop.iter = loop.target.elts[1], loop.iter.args[0]
            loop.body[:0] = raised
            (creation,) = statements(made, loop)
            block.insert(at, creation)
            if holder == "object":
                top = next(i for i, one in enumerate(tree.body) if any(node is creation for node in ast.walk(one)))
                tree.body[top:top] = statements(_TICKS.format(owner), loop)
            return True
        return False

    return rewrite


_TICKS = """
class {}:
    def __init__(self, count):
        self.count = count

    def advance(self):
        self.count += 1
"""


def _enumerated(loop: ast.For) -> str | None:
    """The name of the index that `enumerate` counts."""
    call, target = loop.iter, loop.target
    if not (
        isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "enumerate" and call.args
    ):
        return None
    if isinstance(call.args[0], ast.Starred) or not isinstance(target, ast.Tuple) or len(target.elts) != 2:
        return None
    return target.elts[0].id if isinstance(target.elts[0], ast.Name) else None


def _start(call: ast.Call) -> str:
    if len(call.args) > 1:
        return ast.unparse(call.args[1])
    return ast.unparse(call.keywords[0].value) if call.keywords else "0"


def _alone(tree: ast.Module, scope: Scope, loop: ast.For, index: str) -> bool:
    """Whether the index is bound by this loop alone, and read in it alone."""
    everywhere = uses(tree, index)
    here = {id(node) for one in loop.body for node in uses(one, index)}
    stored = [node for node in everywhere if not isinstance(node.ctx, ast.Load)]
    assert isinstance(loop.target, ast.Tuple)
    return stored == [loop.target.elts[0]] and all(id(one) in here for one in everywhere if one not in stored)


def _read_elsewhere(tree: ast.Module, index: str, written: str) -> None:
    class Reading(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return expression(written) if node.id == index and isinstance(node.ctx, ast.Load) else node

    Reading().visit(tree)


def _remainder(node: ast.expr) -> bool:
    return isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mod)


def _plain_gate(one: ast.stmt) -> bool:
    return isinstance(one, ast.If) and not one.orelse and any(is_event(each, STEPS) for each in one.body)


def _negated(test: ast.expr) -> ast.expr:
    opposites = {
        ast.Eq: ast.NotEq,
        ast.NotEq: ast.Eq,
        ast.Lt: ast.GtE,
        ast.GtE: ast.Lt,
        ast.Gt: ast.LtE,
        ast.LtE: ast.Gt,
    }
    if isinstance(test, ast.Compare) and len(test.ops) == 1 and type(test.ops[0]) in opposites:
        return ast.Compare(test.left, [opposites[type(test.ops[0])]()], test.comparators)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return test.operand
    return ast.UnaryOp(ast.Not(), test)
