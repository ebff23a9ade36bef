"""How much of one file is run on the model, and what was left out once that was spent.

A file with dozens of training functions under hundreds of settings would take minutes. What is left out is told.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from amplint.catalogue.own import OWN
from amplint.findings import Finding, Place, Severity
from amplint.machine.entry_points import Entry

OF_A_FILE = 250_000
"""Statements that all runs of one file may take together: some twenty seconds of one core, at 60 to 120 microseconds
for each. It is asked before an entry, so that the last one may take as much again as one entry may."""


@dataclass
class Budget:
    """The statements that the runs of a file have taken, and the entries that were left out."""

    spent: int = 0
    left: list[Entry] = field(default_factory=list)

    @property
    def exceeded(self) -> bool:
        """Whether no further entry may be run from."""
        return self.spent >= OF_A_FILE


def left_out(budget: Budget, filename: str) -> Iterator[Finding]:
    """What is told of a file of which something was left out: at the first function that was, if it is of the file."""
    functions = [one.function for one in budget.left if one.function is not None]
    if not functions:
        return
    first, count = min(functions, key=lambda one: one.at), len(functions)
    rule = OWN["budget-exceeded"]
    these = f"`{first.name}`" if count == 1 else f"`{first.name}` and {count - 1} other functions"
    message = f"{rule.message}: {these} of this file {'was' if count == 1 else 'were'} not followed"
    yield Finding(filename, Place(*first.at), rule.id, Severity.WARNING, message, rule.advice)
