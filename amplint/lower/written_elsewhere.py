"""A module as if what it takes from other files by name were written in it: names, documents, constructions; and as if
what it tells a schedule were called what it is."""

from __future__ import annotations

from amplint.flow import program as ir
from amplint.lower.constructions import with_constructions
from amplint.lower.documents import with_documents
from amplint.lower.star_imports import spelled_out
from amplint.lower.told_metrics import with_metrics


def as_written(path: str, body: tuple[ir.Stmt, ...]) -> tuple[ir.Stmt, ...]:
    """The statements of the module at a path with all that in place."""
    return with_metrics(with_constructions(path, with_documents(path, spelled_out(path, body))))
