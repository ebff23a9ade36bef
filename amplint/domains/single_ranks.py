"""Branches that some ranks alone go into: what steps in them says so."""

from __future__ import annotations

from collections.abc import Iterator

from amplint.protocol.single_ranks import tells_ranks_apart
from amplint.state.run import Run
from amplint.state.values import Condition, Public, Symbol, Value, text_of

_JOINING = frozenset({"and", "or", "not"})


def enter(run: Run, test: Value) -> None:
    """Notes that the branch that a run has just gone into is that of such a condition."""
    if run.branches and isinstance(test, (Condition, Public, Symbol)) and "hands_rates" not in run.program.ranks:
        told = next((text for text in _atoms(test) if tells_ranks_apart(text)), None)
        if told is not None:
            run.ranks.guards[run.branches[-1]] = told


def _atoms(test: Value) -> Iterator[str]:
    """The texts of what a condition asks for."""
    if isinstance(test, Condition) and test.op in _JOINING:
        for part in test.parts:
            yield from _atoms(part)
    elif isinstance(test, Condition):
        yield f" {test.op} ".join(test.texts or map(text_of, test.parts))
    elif isinstance(test, (Public, Symbol)):
        yield text_of(test)
