"""The sizes of the small model that a program is run on: how long a window is, and an epoch."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from amplint.flow import program as ir
from amplint.protocol.defaults import NOTHING, Defaults
from amplint.state.counts import Length
from amplint.state.values import Symbol

WINDOW = 3
"""The length of a window whose length is a symbol: it has a first micro-step, a middle and a boundary."""

MAX_ITERATIONS = 200
_SHORT = 6  # windows of one, two and three divide it
LONGEST = MAX_ITERATIONS // 4
"""The longest window that is played micro-step by micro-step: two of them and a tail make an epoch."""


class Again(Exception):
    """Something was learned that changes the model (a window's length): the run has to start again."""


@dataclass
class Model:
    """The sizes that symbols are given. It only ever learns, so that restarts come to an end.

    `literals`: the lengths of windows that are too long to be played as they are. Each is played as a symbol would be,
    and keeps its spelling.
    `moduli`: how numbers are written that gates take a counter modulo, whatever they are called; `divisors`: those of
    which it was asked whether they are such, when they were not yet.
    `tail`: how many batches are left over of an epoch after its last whole window; fewer than WINDOW.
    `defaults`: of the options of the program.
    `ones`: windows, by their last names, that are played with a single micro-step; `shortened`: those that were.
    """

    windows: set[str] = field(default_factory=set)
    literals: set[int] = field(default_factory=set)
    counters: set[str] = field(default_factory=set)
    moduli: set[str] = field(default_factory=set)
    divisors: set[str] = field(default_factory=set)
    longest: int = WINDOW
    tail: int = 1
    ones: frozenset[str] = frozenset()
    shortened: set[str] = field(default_factory=set)
    defaults: Defaults = NOTHING
    assigned: dict[int, dict[str, ir.Expr]] = field(default_factory=dict)

    def copied(self) -> Model:
        """The same sizes, to learn more without this one."""
        windows, literals, counters = set(self.windows), set(self.literals), set(self.counters)
        moduli, divisors, shortened = set(self.moduli), set(self.divisors), set(self.shortened)
        numbers = replace(self, windows=windows, literals=literals, counters=counters)
        return replace(numbers, moduli=moduli, divisors=divisors, shortened=shortened)

    @property
    def batches(self) -> int:
        """The number of batches in an epoch: two windows, and a tail unless the program rules it out."""
        return 2 * self.longest + self.tail

    def learn_window(self, text: str) -> None:
        """Takes a symbol for the length of a window. Raises Again when that is new."""
        if text not in self.windows:
            self.windows.add(text)
            raise Again

    def learn_modulus(self, text: str) -> None:
        """Takes what a gate takes a counter modulo for a window. Raises Again where it was taken for none before."""
        if text not in self.moduli:
            self.moduli.add(text)
            if text in self.divisors:
                raise Again

    def is_modulus(self, text: str) -> bool:
        """Whether a gate takes a counter modulo a number that is written so."""
        self.divisors.add(text)
        return text in self.moduli

    def learn_counter(self, text: str) -> None:
        """Takes a symbol for a counter of micro-steps that starts at 0. Raises Again when that is new."""
        if text not in self.counters and text not in self.windows:
            self.counters.add(text)
            raise Again

    def learn_length(self, length: int) -> None:
        """Makes an epoch long enough for two windows of a literal length. Raises Again when that is new."""
        if length > LONGEST and length not in self.literals:
            self.literals.add(length)
            raise Again
        if self.longest < length <= LONGEST:
            self.longest = length
            raise Again

    def length(self, window: Symbol) -> int:
        """How many micro-steps a window of unknown length has."""
        if window.name not in self.ones and not any(repr(name) in window.text for name in self.ones):
            return WINDOW
        self.shortened.add(window.text)
        return 1

    def turns(self, length: int) -> int:
        """How many turns of a loop over micro-steps are played whose length is known: with the tail that it really has,
        and of a window that is too long to be played two."""
        window = max(self.literals, default=self.longest)
        if window in self.literals and length >= 2 * window:
            return 2 * WINDOW + min(length % window, 1)
        most = min(length, MAX_ITERATIONS)
        if window <= WINDOW and most > 4 * _SHORT:
            return 2 * _SHORT + length % _SHORT
        return most - (most - length) % window

    def sized(self, number: int) -> int:
        """A number of the program as the model plays it."""
        return Length(WINDOW, str(number)) if number in self.literals else number

    def learn_no_tail(self) -> None:
        """Makes the window divide the epoch. Raises Again when that is new."""
        if self.tail:
            self.tail = 0
            raise Again
