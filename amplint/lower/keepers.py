"""What is kept: by methods of what they are handed, as meters and histories of losses do, and in lists."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator

from amplint.flow import program as ir
from amplint.flow.spelling import root
from amplint.lower.names import functions, last, walk
from amplint.source.keepers import FILLING


def keepers(body: Iterable[ir.Stmt], losses: Collection[str]) -> tuple[frozenset[str], frozenset[int]]:
    """The methods that add what they are handed to what their object holds, of those that are handed a loss as it is,
    as `reaches` names them; and by identity the statements that add it, and those that hand it over."""
    body = tuple(body)
    handing = [(name, node) for node in _simple(body) for name in _handing(node, losses)]
    names = {f".{name}" for name, _ in handing}
    found = [(name, part) for name, node in functions(body) if name in names for part in _keeping(node)]
    kept = frozenset(name for name, _ in found)
    return kept, frozenset(id(node) for _, node in found) | {id(node) for name, node in handing if f".{name}" in kept}


def handed(body: Iterable[ir.Stmt]) -> frozenset[str]:
    """The methods that are handed what is called a loss, and not a number that was read from it."""
    return frozenset(name for node in body for name in _handing(node, None))


def _simple(body: Iterable[ir.Stmt]) -> Iterator[ir.Stmt]:
    return (part for node in body for part in walk(node) if isinstance(part, (ir.Do, ir.Assign)))


def _handing(node: ir.Stmt, losses: Collection[str] | None) -> Iterator[str]:
    """The methods that a statement hands a loss. `losses`: their names; None: whatever is called so."""
    for part in walk(node):
        if isinstance(part, ir.Call) and isinstance(part.func, ir.Attr):
            if any(_is_loss(one, losses) for one in _arguments(part)):
                yield part.func.name


def _arguments(call: ir.Call) -> Iterator[ir.Expr]:
    yield from call.args
    yield from (value for _, value in call.keywords)


def _is_loss(value: ir.Expr, losses: Collection[str] | None) -> bool:
    name = last(value)
    return name in losses if losses is not None else "loss" in name.lower()


def _keeping(node: ir.Function) -> Iterator[ir.Stmt]:
    """The statements of a method by which its object grows by one of its parameters."""
    own, given = node.params[:1], {param.name for param in node.params[1:]}
    for part in walk(node) if own and given else ():
        if isinstance(part, (ir.Assign, ir.Augment, ir.Do)):
            grown = _grown(part)
            if grown is not None and root(grown[0]) == own[0].name and given & set(_bare(grown[1])):
                yield part


def _grown(node: ir.Assign | ir.Augment | ir.Do) -> tuple[ir.Expr, ir.Expr] | None:
    """What a statement makes larger, and by what."""
    if isinstance(node, ir.Augment):
        return (node.target, node.value) if node.op == "+" else None
    if isinstance(node, ir.Assign):
        total = isinstance(node.value, ir.Binary) and node.value.op == "+"
        return (node.target, node.value) if total and last(node.target) in _bare(node.value) else None
    call = node.value
    fills = isinstance(call, ir.Call) and isinstance(call.func, ir.Attr) and call.func.name in FILLING
    if isinstance(call, ir.Call) and isinstance(call.func, ir.Attr) and fills and call.args:
        return call.func.owner, call.args[-1]
    return None


def _bare(value: ir.Expr) -> Iterator[str]:
    """The names that stand in an expression outside of any call."""
    if isinstance(value, (ir.Name, ir.Attr)):
        yield value.name
    elif isinstance(value, ir.Binary):
        yield from _bare(value.left)
        yield from _bare(value.right)
    elif isinstance(value, ir.Display):
        for item in value.items:
            yield from _bare(item)


def appended(node: ir.Stmt) -> set[str]:
    """What is put into a list, by its name: who asks for the list asks for it."""
    call = node.value if isinstance(node, ir.Do) else None
    appends = isinstance(call, ir.Call) and isinstance(call.func, ir.Attr) and call.func.name == "append"
    return {last(one) for one in call.args} - {""} if isinstance(call, ir.Call) and appends else set()


def written_out(value: ir.Expr) -> tuple[ir.Expr, ...]:
    """A value, or what a list, tuple or dict holds that is written out."""
    if isinstance(value, ir.Mapping):
        return tuple(one for _, one in value.items)
    return value.items if isinstance(value, ir.Display) else (value,)
