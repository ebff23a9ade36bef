"""The loop over the batches is written in another way."""

from __future__ import annotations

import ast

from tests.rewrites.events import loops
from tests.rewrites.scopes import bound, magical, uses
from tests.rewrites.writing import Program, Rewrite, fresh, name, statements, stood


def next_in_while(program: Program) -> bool:
    """A `while` takes the batches from an iterator until there are none left."""
    tree = program.tree
    for _, block, at in reversed(list(loops(tree))):
        loop = block[at]
        assert isinstance(loop, ast.For)
        stream = fresh(tree, "stream")
        made, turning = statements(
            f"{stream} = iter(0)\nwhile True:\n"
            f"    try:\n        _ = next({stream})\n    except StopIteration:\n        break",
            loop,
        )
        assert isinstance(made, ast.Assign)
        assert isinstance(made.value, ast.Call)
        assert isinstance(turning, ast.While)
        taking = turning.body[0]
        assert isinstance(taking, ast.Try)
        assert isinstance(taking.body[0], ast.Assign)
        made.value.args, taking.body[0].targets = [loop.iter], [loop.target]
        turning.body += loop.body
        block[at : at + 1] = [made, turning]
        return True
    return False


def sentinel_in_while(program: Program) -> bool:
    """A `while` takes the batches from an iterator and compares each with None."""
    tree = program.tree
    for _, block, at in reversed(list(loops(tree))):
        loop = block[at]
        assert isinstance(loop, ast.For)
        stream, batch = fresh(tree, "stream"), fresh(tree, "taken")
        made, turning = statements(
            f"{stream} = iter(0)\nwhile ({batch} := next({stream}, None)) is not None:\n    _ = {batch}", loop
        )
        assert isinstance(made, ast.Assign)
        assert isinstance(made.value, ast.Call)
        assert isinstance(turning, ast.While)
        assert isinstance(turning.body[0], ast.Assign)
        made.value.args, turning.body[0].targets = [loop.iter], [loop.target]
        turning.body += loop.body
        block[at : at + 1] = [made, turning]
        return True
    return False


def range_in_while(program: Program) -> bool:
    """A `while` counts what `range` counted, up to its end."""
    tree = program.tree
    for _, block, at in list(loops(tree)):
        loop = block[at]
        assert isinstance(loop, ast.For)
        end = _range_end(loop)
        continues = any(isinstance(node, ast.Continue) for one in loop.body for node in ast.walk(one))
        if end is None or continues or not isinstance(loop.target, ast.Name):
            continue
        index = loop.target.id
        inside = {id(node) for node in uses(loop, index)}
        if any(id(node) not in inside for node in uses(tree, index)) or index in bound(loop.body):
            continue  # it would be one higher behind the loop
        if any(isinstance(node, (ast.Call, ast.Attribute)) for node in ast.walk(end)) and _changing(end, loop):
            continue
        turning = ast.While(ast.Compare(name(index), [ast.Lt()], [end]), loop.body, [])
        stood(loop, turning)
        turning.body += statements(f"{index} += 1", loop)
        block[at : at + 1] = [*statements(f"{index} = 0", loop), turning]
        return True
    return False


def _range_end(loop: ast.For) -> ast.expr | None:
    call = loop.iter
    ranged = isinstance(call, ast.Call) and isinstance(call.func, ast.Name) and call.func.id == "range"
    return call.args[0] if ranged and isinstance(call, ast.Call) and len(call.args) == 1 else None


def _changing(end: ast.expr, loop: ast.For) -> bool:
    return bool({node.id for node in ast.walk(end) if isinstance(node, ast.Name)} & bound(loop.body)) or any(
        isinstance(node, ast.Call) and ast.unparse(node.func) != "len" for node in ast.walk(end)
    )


def generator(program: Program) -> bool:
    """The batches come through a generator of the module."""
    tree = program.tree
    for _, block, at in reversed(list(loops(tree))):
        loop = block[at]
        assert isinstance(loop, ast.For)
        inner = loop.iter
        counted = isinstance(inner, ast.Call) and ast.unparse(inner.func) == "enumerate" and len(inner.args) == 1
        if _range_end(loop) is not None or (isinstance(inner, ast.Call) and not counted):
            continue
        made = fresh(tree, "batches_of")
        if counted and isinstance(inner, ast.Call):
            inner.args[0] = ast.Call(name(made), [inner.args[0]], [])
        else:
            loop.iter = ast.Call(name(made), [inner], [])
        top = next(i for i, one in enumerate(tree.body) if any(node is loop for node in ast.walk(one)))
        tree.body[top:top] = statements(f"def {made}(batches):\n    for one in batches:\n        yield one", loop)
        return True
    return False


def in_try(program: Program) -> bool:
    """The loop stands in a `try` that raises again what stopped it."""
    for _, block, at in list(loops(program.tree)):
        (made,) = statements("try:\n    pass\nexcept KeyboardInterrupt:\n    print('stopped')\n    raise", block[at])
        assert isinstance(made, ast.Try)
        made.body = [block[at]]
        block[at] = made
        return True
    return False


def limited(leaving: str) -> Rewrite:
    """The loop counts its turns and leaves at a limit that is None: by `return`, or by `break`."""

    def rewrite(program: Program) -> bool:
        tree = program.tree
        if magical(tree):
            return False
        for scope, block, at in reversed(list(loops(tree))):
            loop = block[at]
            assert isinstance(loop, ast.For)
            jumps = any(isinstance(node, ast.Continue) for one in loop.body for node in ast.walk(one))
            if jumps or (leaving == "return" and isinstance(scope, ast.Module)):
                continue
            done, limit = fresh(tree, "turns_done"), fresh(tree, "most_turns")
            around = "def f():" if leaving == "return" else "while True:"
            text = f"{around}\n    {done} += 1\n    if {limit} is not None and {done} >= {limit}:\n        {leaving}"
            (kept,) = statements(text, loop)
            assert isinstance(kept, (ast.FunctionDef, ast.While))
            loop.body += kept.body
            block[at:at] = statements(f"{done}, {limit} = 0, None", loop)
            return True
        return False

    return rewrite
