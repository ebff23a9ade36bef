"""What neighbouring files do with a module's scalers: functions that it hands one to, and classes that its own derive
from, in which a scaler may be made, stepped or saved."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from amplint.flow import program as ir
from amplint.lower.names import imports, last, public_name, walk
from amplint.lower.project import function_of
from amplint.lower.statements import Statements
from amplint.source.definitions import Outline, handed_on, outline
from amplint.source.makers import bases_of
from amplint.source.neighbours import resolved
from amplint.source.parse import parse
from amplint.source.reading import Unparsable, Unreadable
from amplint.source.scout import check_brackets

MOST_CLASSES = 4
"""Classes of other files from one to the next that a class of the module derives from."""

MAX_ROWS = 2000
"""Rows of one that is read."""

Body = tuple[ir.Stmt, ...]


@dataclass(frozen=True)
class Inherited:
    """A class of another file that one of the module derives from, whole, with the imports of its file."""

    file: str
    body: Body

    @property
    def nodes(self) -> list[object]:
        """All that is in it."""
        return [node for statement in self.body for node in walk(statement)]


def steppers(path: str, nodes: Sequence[object], scalers: set[str]) -> Iterator[tuple[ir.Function, str]]:
    """The functions of neighbouring files that step a scaler which they are handed from here, and what they call it."""
    imported = imports(nodes)
    for node in nodes:
        if isinstance(node, ir.Call) and any(last(value) in scalers for value in _given(node)):
            name = public_name(node.func, imported)
            function = function_of(path, name) if name else None
            if function is not None:
                names = {name for name, value in _bound(function, node) if last(value) in scalers}
                yield from ((function, name) for name in sorted(names) if _steps(function, name))


def _given(call: ir.Call) -> list[ir.Expr]:
    return [*call.args, *(value for _, value in call.keywords)]


def _bound(function: ir.Function, call: ir.Call) -> Iterator[tuple[str, ir.Expr]]:
    """The parameters of a function, each with what a call gives for it."""
    names = [param.name for param in function.params if not param.star]
    if not call.starred:
        yield from zip(names, call.args, strict=False)
    yield from ((name, value) for name, value in call.keywords if name in names)


def _steps(function: ir.Function, name: str) -> bool:
    made = (node.func for node in walk(function) if isinstance(node, ir.Call))
    return any(isinstance(func, ir.Attr) and func.name == "step" and last(func.owner) == name for func in made)


def inherited(path: str, nodes: Sequence[object]) -> list[Inherited]:
    """The classes of other files that those of the module derive from, the nearest first."""
    imported = imports(nodes)
    bases = [base for node in nodes if isinstance(node, ir.Class) for base in node.bases]
    waiting = [(path, name) for base in bases if (name := public_name(base, imported))]
    found: dict[tuple[str, str], Inherited] = {}
    while waiting and len(found) < MOST_CLASSES:
        known = _defined(*waiting.pop(0))
        if known is not None and known[:2] not in found:
            file, name, outlined = known
            unit = outlined.names[name][0]
            if (body := _lowered(outlined, unit)) is not None:
                found[file, name] = Inherited(file, body)
                waiting += [(file, handed_on(outlined, base) or base) for base in _bases(unit)]
    return list(found.values())


def _bases(unit: ast.stmt) -> list[str]:
    return [base.id for base in bases_of(unit) if isinstance(base, ast.Name)]


def _defined(importer: str, qualified: str, hops: int = 4) -> tuple[str, str, Outline] | None:
    """The file that defines a class, its name there and the outline of the file; None if there is no one such class."""
    own = outline(importer)
    if own is not None and len(own.names.get(qualified, ())) == 1 and handed_on(own, qualified) is None:
        file, name, found = importer, qualified, own
    else:
        place = resolved(importer, qualified)
        known = outline(place[0]) if place is not None and len(place[1]) == 1 and hops else None
        if place is None or known is None:
            return None
        file, (name,), found = place[0], place[1], known
    units = found.names.get(name, ())
    if (other := handed_on(found, name)) is not None:
        return _defined(file, other, hops - 1) if hops else None
    single = len(units) == 1 and isinstance(units[0], ast.ClassDef)
    return (file, name, found) if single else None


def _lowered(found: Outline, unit: ast.stmt) -> Body | None:
    """The imports of a file and one of its classes; None where that is too long, or cannot be read."""
    if (unit.end_lineno or unit.lineno) - unit.lineno > MAX_ROWS:
        return None
    units = (one for every in found.names.values() for one in every if isinstance(one, (ast.Import, ast.ImportFrom)))
    text = "".join(found.text(one) for one in (*dict.fromkeys(units), unit))
    try:
        check_brackets(text)
        return Statements(parse(text)).module()
    except (Unparsable, Unreadable):
        return None


def called_elsewhere(
    path: str, nodes: Sequence[object], asked: Callable[[str], bool]
) -> Iterator[tuple[ir.Call, ir.Function]]:
    """The calls of what has a certain name, each with what is called: functions of neighbouring files, and methods of
    objects whose class is there and that are made here."""
    imported = imports(nodes)
    made = {
        last(node.target): public_name(node.value.func, imported)
        for node in nodes
        if isinstance(node, ir.Assign) and isinstance(node.value, ir.Call)
    }
    for node in nodes:
        if not isinstance(node, ir.Call) or not asked(last(node.func)):
            continue
        name, function = public_name(node.func, imported), None
        if name:
            function = function_of(path, name)
        elif isinstance(node.func, ir.Attr) and (maker := made.get(last(node.func.owner))):
            function = _method(path, maker, node.func.name)
        if function is not None:
            yield node, function


def _method(path: str, qualified: str, name: str) -> ir.Function | None:
    """A method of a class of a neighbouring file."""
    known = _defined(path, qualified)
    body = _lowered(known[2], known[2].names[known[1]][0]) if known is not None else None
    own = (node for top in body or () if isinstance(top, ir.Class) for node in top.body)
    return next((node for node in own if isinstance(node, ir.Function) and node.name == name), None)


def calling(nodes: Sequence[object], body: Body, does: Callable[[Body], bool]) -> Iterator[ir.Call]:
    """The calls, in the order of the text, of methods that a class of another file has and that do something, but for
    those in whose place the module puts its own."""
    methods = {node.name for top in body for node in walk(top) if isinstance(node, ir.Function) and does((node,))}
    methods -= {node.name for node in nodes if isinstance(node, ir.Function)}
    made = (node for node in nodes if isinstance(node, ir.Call) and isinstance(node.func, ir.Attr))
    yield from sorted((node for node in made if last(node.func) in methods), key=lambda node: node.at)
