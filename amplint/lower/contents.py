"""What happens inside each statement, found once from the inside out, so that a long `elif` chain is not quadratic."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from amplint.flow import program as ir
from amplint.lower.names import calls, children, reaches, walk
from amplint.lower.usage import Usage, erases, goes_back

_NOBODY: frozenset[str] = frozenset()


@dataclass(frozen=True)
class Content:
    """The last names of what is called, what of the module that may reach, and whether certain acts are in it."""

    calls: frozenset[str] = _NOBODY
    reaches: frozenset[str] = _NOBODY
    goes_back: bool = False
    steps: bool = False
    erases: bool = False
    jumps: bool = False

    def __or__(self, other: Content) -> Content:
        """What happens in either."""
        return Content(
            self.calls | other.calls,
            self.reaches | other.reaches,
            self.goes_back or other.goes_back,
            self.steps or other.steps,
            self.erases or other.erases,
            self.jumps or other.jumps,
        )


_NOTHING = Content()


class Contents:
    """The contents of the statements of one module."""

    def __init__(self, usage: Usage) -> None:
        self.usage = usage
        self._known: dict[int, Content] = {}

    def of(self, nodes: Iterable[object]) -> Content:
        """What happens in any of several statements or expressions."""
        total = _NOTHING
        for node in nodes:
            found = self._one(node)
            if found is not _NOTHING:
                total = found if total is _NOTHING else total | found
        return total

    def _one(self, node: object) -> Content:
        if not isinstance(node, ir.STATEMENTS):
            return self._expression(node)
        known = self._known.get(id(node))
        if known is None:
            known = self.of(children(node))
            if isinstance(node, ir.Return) or (isinstance(node, ir.Leave) and node.how != "raise"):
                known |= Content(jumps=True)  # what is refused is no micro-step of any window
            self._known[id(node)] = known
        return known

    def _expression(self, node: object) -> Content:
        made = [part for part in walk(node) if isinstance(part, ir.Call)]
        if not made:
            return _NOTHING
        return Content(
            frozenset(calls(node)),
            frozenset(reaches(node, self.usage.driven)),
            any(goes_back(call) for call in made),
            any(self.usage.steps(call) for call in made),
            any(erases(call) for call in made),
        )
