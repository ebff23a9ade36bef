"""What keeps a model that is cast from being float16 as a whole: copies in float32, and parameters of another dtype."""

from __future__ import annotations

from collections.abc import Iterator

from amplint.dialects import vocabulary as words
from amplint.dialects.methods import CASTS
from amplint.dialects.vocabulary import within
from amplint.flow import program as ir
from amplint.lower.names import last, walk

_BACK = CASTS - {"half", "to"}
_WIDER = _BACK | {"float32", "float64"}
_COPIES = within(words.UPCASTING)


def keeps_copies(body: tuple[ir.Stmt, ...]) -> bool:
    """Whether parameters may be exchanged by hand (`p.data = p.data.float()`), or something is called like a copy in
    float32."""
    return any(_keeps_copy(node) for statement in body for node in walk(statement))


def _keeps_copy(node: object) -> bool:
    if isinstance(node, (ir.Assign, ir.Augment)):
        return isinstance(node.target, ir.Attr) and node.target.name in ("data", "_unscale_grads_")
    return isinstance(node, ir.Call) and _COPIES(last(node.func))


def wider_classes(body: tuple[ir.Stmt, ...]) -> Iterator[str]:
    """The classes that may make parameters of another dtype than the default, by name."""
    for node in (part for statement in body for part in walk(statement)):
        if isinstance(node, ir.Class) and any(map(_is_wider, walk(node))):
            yield node.name


def _is_wider(node: object) -> bool:
    if not isinstance(node, ir.Call):
        return False
    given = (*node.args, *(value for _, value in node.keywords))
    cast = last(node.func) in _BACK or (last(node.func) == "to" and any(last(one) in _WIDER for one in given))
    return "dtype" in dict(node.keywords) or (cast and isinstance(node.func, ir.Attr))
