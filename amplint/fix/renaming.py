"""Public names that have moved to another module: their imports and every call, in the whole file at once.

All or nothing: where a name is used in a way that the new one does not allow without more (handed on without a call,
bound again, imported in a `try`, used where an exception is handled), nothing is renamed.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

import libcst as cst

from amplint.catalogue.remedy import Rename, Renamed
from amplint.fix.code import Change, Code, every
from amplint.fix.inherited import given_to, sets_another, torch_here
from amplint.fix.stage import Stage


class _Unclear(Exception):
    """A use that cannot be renamed."""


@dataclass
class _Names:
    """What the imports of a file bind: local names of the things that move, and of the modules that they move from."""

    things: dict[str, str] = field(default_factory=dict)
    modules: dict[str, str] = field(default_factory=dict)
    changes: list[Change] = field(default_factory=list)


def rename(stage: Stage, action: Rename) -> Iterator[list[Change]]:
    """The changes of every import and every use; none where one of them is not clear."""
    code = stage.code
    try:
        names = _imported(code, action)
        changes = [*names.changes, *_used(code, action, names)]
    except _Unclear:
        return
    if changes:
        yield changes


# --- imports ---------------------------------------------------------------------------------------------------------


def _imported(code: Code, action: Rename) -> _Names:
    names = _Names()
    for node in every(code.tree.module):
        if isinstance(node, cst.ImportFrom) and node.module is not None and not node.relative:
            _from(code, action, node, names)
        elif isinstance(node, cst.Import):
            _whole(code, action, node, names)
    return names


def _from(code: Code, action: Rename, node: cst.ImportFrom, names: _Names) -> None:
    """`from torch.cuda.amp import autocast`, `from torch.cuda import amp`."""
    module = _dotted(node.module) if node.module is not None else ""
    aliases = () if isinstance(node.names, cst.ImportStar) else node.names
    if module in action.modules:
        taken = {_local(alias): _dotted(alias.name) for alias in aliases}
        if not taken or not set(taken.values()) <= set(action.names) or _is_an_attempt(code, node):
            raise _Unclear
        names.things |= taken
        assert node.module is not None
        names.changes.append(Change(*code.span(node.module), action.into))
        return
    held = {_local(alias): f"{module}.{_dotted(alias.name)}" for alias in aliases}
    moved = {name: full for name, full in held.items() if full in action.modules}
    if moved:
        if len(held) > 1 or _is_an_attempt(code, node) or action.into.rpartition(".")[2] != _dotted(aliases[0].name):
            raise _Unclear
        names.modules |= moved
        assert node.module is not None
        names.changes.append(Change(*code.span(node.module), action.into.rpartition(".")[0]))


def _whole(code: Code, action: Rename, node: cst.Import, names: _Names) -> None:
    """`import torch.cuda.amp as amp`; without a name of its own it binds `torch`, as its successor does."""
    for alias in node.names:
        if _dotted(alias.name) in action.modules:
            if _is_an_attempt(code, node):
                raise _Unclear
            if alias.asname is not None:
                names.modules[_local(alias)] = _dotted(alias.name)
            names.changes.append(Change(*code.span(alias.name), action.into))


def _is_an_attempt(code: Code, node: cst.CSTNode) -> bool:
    return any(isinstance(above, cst.Try | cst.If) for above in code.above(node))


def _local(alias: cst.ImportAlias) -> str:
    bound = alias.asname.name if alias.asname is not None else alias.name
    return bound.value if isinstance(bound, cst.Name) else ""


def _dotted(node: cst.CSTNode) -> str:
    if isinstance(node, cst.Attribute):
        return f"{_dotted(node.value)}.{node.attr.value}"
    return node.value if isinstance(node, cst.Name) else "?"


# --- uses ------------------------------------------------------------------------------------------------------------


def _used(code: Code, action: Rename, names: _Names) -> Iterator[Change]:
    for node in every(code.tree.module):
        above = code.parents.get(node)
        if isinstance(node, cst.Attribute):
            yield from _attribute(code, action, names, node)
        elif isinstance(node, cst.Name) and node.value in {*names.things, *names.modules}:
            if isinstance(above, cst.ImportAlias | cst.AsName) or _is_a_label(above, node):
                continue
            if isinstance(above, cst.AssignTarget | cst.Param | cst.FunctionDef | cst.ClassDef | cst.NameItem):
                raise _Unclear
            if node.value in names.things:
                yield from _use(code, action, names.things[node.value], node)
            elif not isinstance(above, cst.Attribute):
                raise _Unclear


def _is_a_label(above: cst.CSTNode | None, node: cst.Name) -> bool:
    """Whether a name is that of an attribute or of a keyword, which no import binds."""
    return (isinstance(above, cst.Attribute) and above.attr is node) or (
        isinstance(above, cst.Arg) and above.keyword is node
    )


def _attribute(code: Code, action: Rename, names: _Names, node: cst.Attribute) -> Iterator[Change]:
    """`torch.cuda.amp.autocast`, `amp.autocast`."""
    dotted = _dotted(node)
    owner, _, name = dotted.rpartition(".")
    if owner in names.modules:
        if name not in action.names:
            raise _Unclear
        yield from _use(code, action, name, node)
    elif owner in action.modules and owner != dotted:
        if dotted in action.modules:
            return
        if name not in action.names:
            raise _Unclear
        above = code.parents.get(node)
        if isinstance(above, cst.Import | cst.ImportFrom | cst.ImportAlias):
            return
        yield Change(*code.span(node.value), action.into)
        yield from _use(code, action, name, node)


def _use(code: Code, action: Rename, name: str, node: cst.BaseExpression) -> Iterator[Change]:
    """The arguments of a call; a decorator becomes one, an annotation or a test of a class needs nothing."""
    renamed = action.names[name]
    above = code.parents[node]
    if any(isinstance(one, cst.ExceptHandler) for one in code.above(node)):
        raise _Unclear
    if isinstance(above, cst.Call) and above.func is node:
        yield from _arguments(code, name, renamed, above)
    elif isinstance(above, cst.Decorator) and not renamed.positions:
        yield Change(*2 * (code.span(node)[1],), f"({renamed.argument})")
    elif not any(isinstance(one, cst.Annotation) for one in code.above(node)) and not _is_tested(above, code):
        raise _Unclear


def _is_tested(above: cst.CSTNode, code: Code) -> bool:
    call = code.parents.get(above)
    return isinstance(above, cst.Arg) and isinstance(call, cst.Call) and _dotted(call.func) == "isinstance"


def _arguments(code: Code, name: str, renamed: Renamed, call: cst.Call) -> Iterator[Change]:
    if any(arg.keyword is not None and arg.keyword.value == "device_type" for arg in call.args):
        return
    given = [arg for arg in call.args if arg.keyword is None]
    if any(arg.star for arg in given) or (renamed.positions and len(given) > len(renamed.positions)):
        raise _Unclear
    first = ", ".join([renamed.argument, *_inherited(code, name, renamed, call)])
    if not call.args:
        at = code.span(call)[1] - 1
        yield Change(at, at, first)
        return
    at = code.span(call.args[0])[0]
    yield Change(at, at, f"{first}, ")
    for arg, word in zip(given, renamed.positions, strict=False):
        start = code.span(arg)[0]
        yield Change(start, start, f"{word}=")


def _inherited(code: Code, name: str, renamed: Renamed, call: cst.Call) -> Iterator[str]:
    """What a call has to be given now, because the file may set something else around it."""
    for argument, value in renamed.inherited.items():
        if given_to(call.args, argument, renamed.positions) is None and sets_another(code, name, renamed, argument):
            torch = torch_here(code)
            if not torch:
                raise _Unclear
            yield f"{argument}={torch}.{value.rpartition('.')[2]}"
