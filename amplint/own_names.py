"""What the user calls the objects of a step: read from the calls that a finding is about."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator, Sequence

from amplint.dialects import DIALECTS
from amplint.protocol.events import Kind, Site

Names = tuple[tuple[str, str], ...]
"""Per word that texts use (`optimizer`, `scaler`, `accelerator`) the user's own expression."""

_CALLS = [dialect.spelling.get("backward", "").partition(".backward(") for dialect in DIALECTS]
_FRAMEWORKS = tuple(sorted({owner for owner, called, _ in _CALLS if called} - {"optimizer"}))
"""What the dialects call the object of a framework that back-propagates."""


def own_names(lines: Sequence[str], calls: Iterable[tuple[Kind, Site]]) -> Names:
    """The user's own expressions for the objects that some calls of the text are made on, or are given."""
    found: dict[str, str] = {}
    for kind, site in calls:
        node = _call(lines, site)
        for word, part in _roles(kind, node) if node is not None else ():
            if isinstance(part, (ast.Name, ast.Attribute, ast.Subscript)):
                found.setdefault(word, ast.unparse(part))
    return tuple(found.items())


def _call(lines: Sequence[str], site: Site) -> ast.Call | None:
    """The call at a place of the text, None where there is something else: a `with`, or a statement."""
    rows = [line.rstrip("\r\n") for line in lines[site.row - 1 : site.end_row]]
    if not rows or site.column < 1 or site.row < 1:
        return None
    rows[-1] = rows[-1][: site.end_column - 1]
    rows[0] = rows[0][site.column - 1 :]
    try:
        node = ast.parse(f"({' '.join(rows)})", mode="eval").body
    except (SyntaxError, ValueError):
        return None
    return node if isinstance(node, ast.Call) else None


_METHODS = {
    Kind.STEP: "step",
    Kind.SCALER_STEP: "step",
    Kind.UNSCALE: "unscale_",
    Kind.ZERO_GRAD: "zero_grad",
    Kind.UPDATE: "update",
    Kind.BACKWARD: "backward",
}
"""Per kind of event the method whose call it is."""


def _roles(kind: Kind, call: ast.Call) -> Iterator[tuple[str, ast.expr]]:
    """The parts of a call that are an optimizer, a scaler, or the object of a framework that back-propagates;
    `optimizer.step()` of a framework's steps its scaler."""
    if not isinstance(call.func, ast.Attribute) or call.func.attr != _METHODS[kind]:
        return
    if kind is Kind.BACKWARD:
        yield from ((word, call.func.value) for word in _FRAMEWORKS)
        return
    by_scaler = kind in (Kind.UNSCALE, Kind.UPDATE) or (kind is Kind.SCALER_STEP and bool(call.args))
    yield ("scaler" if by_scaler else "optimizer"), call.func.value
    if by_scaler and kind is not Kind.UPDATE and call.args:
        yield "optimizer", call.args[0]
