"""Code that is written for several releases of torch: what it asks of the library, and what it falls back to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from amplint.dialects import vocabulary as words
from amplint.dialects.syntax import AMP, FORMER_AMP, PACKAGE
from amplint.dialects.vocabulary import consisting, within
from amplint.flow import program as ir
from amplint.lower.names import last, walk
from amplint.lower.scopes import Scope

ALL = frozenset({"*"})
_LACKING = frozenset({"ImportError", "ModuleNotFoundError", "AttributeError", "TypeError"})
"""What Python raises where a release lacks a name, or an argument of it."""

_VERSION, _VERSION_ITSELF, _RELEASE = within("version"), consisting(words.VERSION), within(words.RELEASE)
_DEEPEST = 3


def alternative(test: ir.Expr, other: Iterable[object], scope: Scope) -> frozenset[str]:
    """What a branch is the alternative to: everything if a release decides, else what the other branch renews."""
    return ALL if asks_for_release(test, scope) else newer(other, scope)


def asks_for_release(test: ir.Expr, scope: Scope) -> bool:
    """Whether a test is about the release of the library, or about what it has: `hasattr(torch, "amp")`."""
    return any(_tells_release(part, scope) for part in _parts(test, scope))


def asks_for_amp(node: ir.Call, scope: Scope) -> bool:
    """Whether a call looks up what a release may lack of mixed precision: `getattr(torch.amp, "GradScaler", None)`."""
    least = {"hasattr": 2, "getattr": 3}.get(last(node.func), 0)
    if not least or len(node.args) < least:
        return False
    named = node.args[1].value if isinstance(node.args[1], ir.Const) else ""
    asked = f"{scope.qualified(node.args[0])}.{named if isinstance(named, str) else ''}."
    return asked.startswith((f"{FORMER_AMP}.", f"{AMP}."))


def attempts(node: ir.Try, scope: Scope) -> bool:
    """Whether a `try` takes something from the new module, and has another way where the release lacks it."""
    return bool(node.catches & _LACKING and newer(node.body, scope))


def newer(nodes: Iterable[object], scope: Scope) -> frozenset[str]:
    """The short names of what some code takes from the new module for CUDA, or for a device that is not said."""
    parts = [part for node in nodes for part in walk(node)]
    beside = {id(part.func) for part in parts if isinstance(part, ir.Call) and _is_for_another_device(part)}
    named = (part for part in parts if isinstance(part, ir.Name | ir.Attr | ir.Import) and id(part) not in beside)
    found = (part.qualified if isinstance(part, ir.Import) else scope.qualified(part) for part in named)
    return frozenset(name.rpartition(".")[2] for name in found if name is not None and name.startswith(f"{AMP}."))


def _is_for_another_device(call: ir.Call) -> bool:
    device = dict(call.keywords).get("device_type", call.args[0] if call.args else None)
    return isinstance(device, ir.Const) and isinstance(device.value, str) and not device.value.startswith("cuda")


def _tells_release(part: object, scope: Scope) -> bool:
    if isinstance(part, ir.Call) and last(part.func) == "hasattr" and part.args:
        return (scope.qualified(part.args[0]) or "").startswith(PACKAGE)
    name = part.name if isinstance(part, ir.Name | ir.Attr) else ""
    return (_VERSION(name) and _VERSION_ITSELF(name)) or _RELEASE(name)


def _parts(node: ir.Expr, scope: Scope, depth: int = 0) -> Iterator[object]:
    """Everything in an expression, and in what its names were given."""
    for part in walk(node):
        yield part
        given = scope.value(part) if isinstance(part, ir.Name) and depth < _DEEPEST else part
        if isinstance(given, ir.Node) and given is not part:
            yield from _parts(given, scope, depth + 1)  # type: ignore[arg-type]
