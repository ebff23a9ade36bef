"""JSON files that a module reads by a path that it spells out, as if what they hold were written there.

`json.load(open("ds.json"))` is the dict that the file holds, and so is the path that a framework is handed in place of
one (`deepspeed/runtime/config.py` of 0.19: `DeepSpeedConfig` loads a path with `json.load`).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import cast

from amplint.dialects import DIALECTS
from amplint.flow import program as ir
from amplint.lower.names import walk, with_parts
from amplint.lower.scopes import Scope
from amplint.source.documents import Document, document

Body = tuple[ir.Stmt, ...]
Opened = Mapping[str, ir.Expr]
"""The names of open files, with what each was opened by."""

_SUFFIX = ".json"
_TAKES = {name: keywords for dialect in DIALECTS for name, keywords in dialect.documents.items()}


def with_documents(path: str, body: Body) -> Body:
    """The statements of a module with what its JSON files hold in place of what reads them."""
    texts = (node.value for statement in body for node in walk(statement) if isinstance(node, ir.Const))
    if not any(isinstance(text, str) and text.endswith(_SUFFIX) for text in texts):
        return body
    return _Reader(path).body(body, Scope.of_module(body))


class _Reader:
    """Rewrites the statements of one file."""

    def __init__(self, path: str) -> None:
        self.path = path

    def body(self, body: Body, scope: Scope) -> Body:
        """The statements with each expression that reads a document replaced by that."""
        return cast("Body", self._node(body, scope, {}))

    def _node(self, node: object, scope: Scope, opened: Opened) -> object:
        """A node, or several, or something else, with the documents in place."""
        if isinstance(node, ir.Function):
            scope = scope.inside(node.body, (param.name for param in node.params))
        if isinstance(node, ir.With) and isinstance(node.target, ir.Name):
            file = _opens(node.context)
            opened = opened if file is None else {**opened, node.target.name: file}
        if isinstance(node, ir.Call) and (read := self._read(node, scope, opened)) is not None:
            return read
        made = with_parts(node, lambda one: self._node(one, scope, opened))
        return self._handed(made, scope) if isinstance(made, ir.Call) else made

    def _read(self, call: ir.Call, scope: Scope, opened: Opened) -> ir.Expr | None:
        """What a call of `json.load` or `json.loads` returns, None for another call."""
        called = scope.qualified(call.func)
        if called not in ("json.load", "json.loads") or len(call.args) != 1:
            return None
        given = call.args[0] if called == "json.load" else _read_by(call.args[0])
        file = opened.get(given.name) if isinstance(given, ir.Name) else _opens(given)
        return self._document(file, scope) if file is not None else None

    def _handed(self, call: ir.Call, scope: Scope) -> ir.Call:
        """A call, with the document in the place of the path of a configuration that it is handed."""
        names = _TAKES.get(scope.qualified(call.func) or "", frozenset())
        known = {name: self._document(value, scope) for name, value in call.keywords if name in names}
        if not any(known.values()):
            return call
        return replace(call, keywords=tuple((name, known.get(name) or value) for name, value in call.keywords))

    def _document(self, written: ir.Expr, scope: Scope) -> ir.Expr | None:
        text = scope.value(written)
        if not isinstance(text, ir.Const) or not isinstance(text.value, str) or not text.value.endswith(_SUFFIX):
            return None
        found = document(self.path, text.value)
        return None if found is None else _expression(found, written.at)


def _read_by(node: ir.Expr) -> ir.Expr | None:
    """The file of which `file.read()` or `path.read_text()` gives all that it holds."""
    method = node.func if isinstance(node, ir.Call) and not node.args else None
    return method.owner if isinstance(method, ir.Attr) and method.name in ("read", "read_text") else None


def _opens(node: ir.Expr | None) -> ir.Expr | None:
    """The path that `open(path)` or `Path(path)` is given."""
    if not isinstance(node, ir.Call):
        return None
    if isinstance(node.func, ir.Attr) and node.func.name == "open":
        return _opens(node.func.owner)
    opens = isinstance(node.func, ir.Name) and node.func.name in ("open", "Path")
    return node.args[0] if opens and node.args else None


def _expression(value: Document, at: ir.Span) -> ir.Expr:
    """A document as the program would have written it."""
    if isinstance(value, dict):
        return ir.Mapping(at, tuple((ir.Const(at, key), _expression(one, at)) for key, one in value.items()))
    if isinstance(value, list):
        return ir.Display(at, "list", tuple(_expression(one, at) for one in value))
    return ir.Const(at, value)
