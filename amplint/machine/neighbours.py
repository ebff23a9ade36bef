"""Definitions of neighbouring files: executed when they are first asked for, each file once in a run."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from amplint.state.run import Run
from amplint.state.scopes import Module, Scope
from amplint.state.values import Public, Value


def public(run: Run, qualified: str) -> Value:
    """What a qualified name means in the file that is being run: a neighbour's definition, or a public name."""
    there = run.program.links.get((run.path, qualified))
    if there is None:
        return Public(qualified)
    file, name = there
    scope = _executed(run, file)
    return scope.names[name] if name in scope.names else Public(qualified)


def _executed(run: Run, file: str) -> Scope:
    known = run.neighbours.get(file)
    if known is None:
        known = run.neighbours[file] = Scope({"__name__": "module"}, module=Module(file))
        with within(run, known):
            run.execute(known, run.program.neighbours[file])
    return known


@contextmanager
def within(run: Run, scope: Scope) -> Iterator[None]:
    """While it is open, what happens stands in the file of a scope."""
    before = run.here
    run.here = scope.outermost().module or before
    try:
        yield
    finally:
        run.here = before
