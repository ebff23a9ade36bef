"""Under which condition a module makes its scalers: without it there is no state to be saved."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from amplint.flow import program as ir
from amplint.flow.spelling import spelled
from amplint.lower.names import children

Asks = Callable[[object], bool]
Tests = frozenset[str]


def condition(body: Iterable[ir.Stmt], makes: Asks, place: ir.Span) -> str:
    """The one condition under which all scalers are made, as a message names it, unless what is at a place stands under
    it too; empty if there is none, or there are several."""
    statements = tuple(body)
    shared = frozenset().union(*_above(statements, lambda node: getattr(node, "at", None) == place, frozenset()))
    found = {tests - shared for tests in _above(statements, makes, frozenset())}
    texts = next(iter(found)) if len(found) == 1 else frozenset[str]()
    return f" (when `{next(iter(texts))}`)" if len(texts) == 1 and "" not in texts else ""


def _above(nodes: Iterable[object], of: Asks, above: Tests) -> Iterator[Tests]:
    """The tests that stand around each node that is asked for, with what switches it on; an empty text for a test of
    which it is not known how it is written."""
    for node in nodes:
        if of(node):
            given = node.keywords if isinstance(node, ir.Call) else ()
            asked = (value for name, value in given if name == "enabled" and not isinstance(value, ir.Const))
            yield above | {_written(value) for value in asked}
        elif isinstance(node, (ir.If, ir.Choice)):
            text = _written(node.test)
            yes, no = (node.body, node.orelse) if isinstance(node, ir.If) else ((node.yes,), (node.no,))
            yield from _above(yes, of, above | {text})
            yield from _above(no, of, above | {f"not {text}" if text and " " not in text else ""})
        else:
            yield from _above(children(node), of, above)


def _written(test: ir.Expr) -> str:
    """A plain test, or several joined by `and`, as it is written, empty for one of which that is not known."""
    if isinstance(test, ir.Logic):
        parts = [_written(part) for part in test.parts]
        return " and ".join(parts) if test.op == "and" and all(parts) else ""
    if isinstance(test, ir.Compare):
        plain = all(isinstance(side, (ir.Name, ir.Attr, ir.Const)) for side in (test.left, test.right))
        return spelled(test) if plain else ""
    return spelled(test) if isinstance(test, (ir.Name, ir.Attr)) else ""
