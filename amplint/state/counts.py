"""Numbers that know what they count."""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction


class Length(int):
    """The length of a window: a symbol that the model gives a small value, or a literal; `name` is its spelling."""

    name: str
    tags: frozenset[str]

    def __new__(cls, value: int, name: str) -> Length:
        """A length of a known value."""
        made = super().__new__(cls, value)
        made.name = name
        made.tags = frozenset({"window"})
        return made


class Count(int):
    """A whole number that counts something: batches of the loader, perhaps divided by the window."""

    tags: frozenset[str]

    def __new__(cls, value: int, tags: frozenset[str]) -> Count:
        """A count of what the tags say."""
        made = super().__new__(cls, value)
        made.tags = tags
        return made


ORDERS = frozenset({"<", "<=", ">", ">="})


@dataclass
class Turns:
    """The turns of a loop over epochs, of which only the first are played.

    `played`: the last of those; `end`: past the last of all, None if not known. Whoever compares the number of a turn
    with a limit beyond what is played may mean a later one: `past` is the highest limit that the run takes for passed,
    `ahead` the lowest one that it does not.
    """

    played: int
    end: int | None
    past: Fraction | int | None = None
    ahead: Fraction | int | None = None


class Turn(Count):
    """The number of a turn of a loop over epochs."""

    turns: Turns

    def __new__(cls, value: int, tags: frozenset[str], turns: Turns | None = None) -> Turn:
        """One of some turns; of nothing else, the only one."""
        made = int.__new__(cls, value)
        made.tags = tags
        made.turns = turns or Turns(value, value + 1)
        return made


class Quotient(Fraction):
    """A number that is not whole, of which it is known what it counts."""

    tags: frozenset[str]

    def __new__(cls, value: Fraction, tags: frozenset[str]) -> Quotient:
        """A quotient of what the tags say."""
        made = super().__new__(cls, value.numerator, value.denominator)
        made.tags = tags
        return made


class Remainder(int):
    """`counter % window`: comparing it tells where in the window a micro-step is."""

    length: str
    restarts: bool
    assumed: bool
    counter: str

    def __new__(
        cls, value: int, length: str, restarts: bool = False, assumed: bool = False, counter: str = ""
    ) -> Remainder:
        """A remainder of what is spelled `counter` by a window that is spelled `length`."""
        made = super().__new__(cls, value)
        made.length, made.restarts, made.assumed, made.counter = length, restarts, assumed, counter
        return made
