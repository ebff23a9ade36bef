"""The suites that a gate leads, and whether they can run in another turn of the loop: what they set is set in time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import libcst as cst

from amplint.fix.code import Code, every
from amplint.fix.stage import bound
from amplint.fix.watchers import bindings


def readers(code: Code, value: cst.CSTNode) -> Iterator[cst.CSTNode]:
    """A value, and where the name is read that it alone is given to."""
    yield value
    statement = code.statement(value)
    target = statement.targets[0].target if isinstance(statement, cst.Assign) and len(statement.targets) == 1 else None
    if isinstance(target, cst.Name):
        yield from _reads(code, target.value, code.function(target))


def led(code: Code, places: Iterable[cst.CSTNode]) -> list[cst.If]:
    """Every `if` that a place is in the test of."""
    above = ((place, one) for place in places for one in code.above(place) if isinstance(one, cst.If))
    return list(dict.fromkeys(one for place, one in above if code.inside(place, one.test)))


def sets_in_time(code: Code, gates: Sequence[cst.If]) -> bool:
    """Whether what is set under some gates is set before them too, or read only under the same test behind it."""
    return not any(_is_missed(code, name, gate, gates) for gate in gates for name in _set_in(code, gate.body))


def _is_missed(code: Code, name: str, gate: cst.If, gates: Sequence[cst.If]) -> bool:
    function = code.function(gate)
    params = every(function.params) if isinstance(function, cst.FunctionDef) else ()
    if any(isinstance(one, cst.Param) and one.name.value == name for one in params):
        return False
    if gate.orelse is not None and name in _set_in(code, gate.orelse):
        return False
    if any(_comes_before(code, one, gate) for one in every(function) if name in _names(one)):
        return False
    alike = [one for one in gates if one.test.deep_equals(gate.test) and code.span(one) >= code.span(gate)]
    return any(not any(code.inside(read, one.body) for one in alike) for read in _reads(code, name, function))


def _comes_before(code: Code, node: cst.CSTNode, gate: cst.If) -> bool:
    """Whether a statement has run wherever a gate is reached."""
    suites = (one for one in code.above(node) if isinstance(one, cst.BaseSuite))
    return code.span(node)[0] < code.span(gate)[0] and all(code.inside(gate, one) for one in suites)


def _set_in(code: Code, suite: cst.CSTNode) -> dict[str, None]:
    return dict.fromkeys(name for one in every(suite) for name in _names(one))


def _names(node: cst.CSTNode) -> Iterator[str]:
    """The names that a statement binds."""
    parts = (part for target, _ in bindings(node) for part in bound(target))
    return (part.value for part in parts if isinstance(part, cst.Name))


def _reads(code: Code, name: str, function: cst.CSTNode) -> Iterator[cst.Name]:
    """Where a name is read in a function."""
    targets = {part for one in every(function) for target, _ in bindings(one) for part in bound(target)}
    for one in every(function):
        above = code.parents.get(one)
        if not isinstance(one, cst.Name) or one.value != name or one in targets or isinstance(above, cst.Param):
            continue
        label = above.attr if isinstance(above, cst.Attribute) else getattr(above, "keyword", None)
        if label is not one:
            yield one
