"""What puts a mistake right, as data: which event has to happen where, and how safe it is to write that.

A remedy names events, never text. Dialects say how an event is spelled, `amplint/fix/` where it goes. It is offered
only where it is proved: the mistake is gone from the mended program, and no other one is there.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from amplint.protocol.events import Kind


class Safety(str, Enum):
    """What a fix takes for granted. The texts below say it to users: the command line, the site and the pages."""

    SAFE = "safe"
    """The source says already what the program does afterwards, as a threshold or a scaler that is there to be used. No
    correct program changes."""

    UNSAFE = "unsafe"
    """The source says something else, as an order or a divisor, and what was meant is a guess; or it holds for the
    schedule that the user has tuned, or for a version of a library that is not declared to be there."""

    DISPLAY = "display"
    """It holds for a version of a library of which the project does not speak at all: a person is shown it, and nothing
    is written."""


SAFE_MEANS = "after a safe fix the program does what its source says"
UNSAFE_MEANS = "an unsafe fix guesses what was meant"
NUMBERS_CHANGE = "The numbers of a run that was tuned with the mistake in it change."
NUMBERS_STAY = "No number of a run changes."
"""The page of a rule with a safe fix says one of the last two."""


Kinds = tuple[Kind, ...]


@dataclass(frozen=True)
class Insert:
    """An event that is missing. `before` and `after`: the event next to which it has to happen, the first one known."""

    what: Kind
    before: Kinds = ()
    after: Kinds = ()


@dataclass(frozen=True)
class Move:
    """An event that happens at the wrong place, with those that follow it in `along` if they are there.

    `before` and `after`: as of Insert. `inside`: it goes into the loop in which that other event happens; else it stays
    in its own.
    """

    what: Kind
    before: Kinds = ()
    after: Kinds = ()
    along: Kinds = ()
    inside: bool = False


@dataclass(frozen=True)
class Gather:
    """An event that has to happen once instead of several times: after another one, however often that happens."""

    what: Kind
    after: Kinds


@dataclass(frozen=True)
class Join:
    """An event that has to happen under the condition of another one: of the last that is written above it."""

    what: Kind
    to: Kind


@dataclass(frozen=True)
class Delete:
    """An event that must not happen; `only` where it is known of it that it does what its detail calls so."""

    what: Kind
    only: str = ""


@dataclass(frozen=True)
class Ungate:
    """An event that has to happen on every micro-step."""

    what: Kind


@dataclass(frozen=True)
class Respell:
    """An event that has to be another one, of the same objects."""

    what: Kind
    into: Kind


@dataclass(frozen=True)
class Divide:
    """The loss is due to be divided by the window where it is back-propagated: what is logged stays what it was."""


@dataclass(frozen=True)
class Undivide:
    """The loss must not be divided by the window: somebody else does it."""


@dataclass(frozen=True)
class Detach:
    """The loss has to be added to a total without its graph."""


@dataclass(frozen=True)
class CountFromOne:
    """The gate has to count the micro-steps that are done, not those before this one."""


@dataclass(frozen=True)
class Hoist:
    """What is made at the finding has to be made once, before the loops around it."""


@dataclass(frozen=True)
class EndRegion:
    """The event has to happen after the `with` that it stands in."""

    what: Kind


@dataclass(frozen=True)
class DropArgument:
    """A keyword argument that the call at the finding must not have."""

    name: str


@dataclass(frozen=True)
class Unwrap:
    """The call at the finding has to be one of the object, not of its attribute of that name."""

    attribute: str


@dataclass(frozen=True)
class Through:
    """The call at the finding has to be one of the framework, as the rule's words spell it under a key."""

    word: str


@dataclass(frozen=True)
class AtBoundary:
    """The statement at the finding has to run at the end of a framework's window, as the rule's words spell it."""

    word: str


@dataclass(frozen=True)
class ByModel:
    """The call at the finding has to be a method of the model whose parameters it is given."""


@dataclass(frozen=True)
class Renamed:
    """What a public name needs in its new module: an argument that comes first, and names for its positional ones.

    `inherited`: the arguments that the new name takes, where they are not given, from the regions around it, each with
    the value that the old one has, a name in `torch`.
    """

    argument: str
    positions: tuple[str, ...] = ()
    inherited: Mapping[str, str] = field(hash=False, default_factory=dict)


@dataclass(frozen=True)
class Rename:
    """Everything that the file takes from some modules has to come from another one. `names`: all that may be taken."""

    modules: tuple[str, ...]
    into: str
    names: Mapping[str, Renamed] = field(hash=False)


@dataclass(frozen=True)
class EnterBoth:
    """The call at the finding is a context that an `and` loses: it has to stand apart by a comma."""


@dataclass(frozen=True)
class AddArgument:
    """A keyword argument that the call at the finding lacks, as `name=value`."""

    argument: str


Action = (
    Insert
    | Move
    | Gather
    | Join
    | Delete
    | Ungate
    | Respell
    | Divide
    | Undivide
    | Detach
    | CountFromOne
    | Hoist
    | EndRegion
    | DropArgument
    | Unwrap
    | Through
    | AtBoundary
    | ByModel
    | Rename
    | AddArgument
    | EnterBoth
)


SKIPPED = ("scheduler-on-skipped-step",)
"""What can be told only of a program whose steps go through a scaler, which skips some."""

TAILS = ("dropped-tail-window", "misnormalized-tail-window")
"""Warnings about what is left over of an epoch, which only a program whose windows are whole can be given."""


@dataclass(frozen=True)
class Remedy:
    """`ways` to put it right, the first that is proved is taken; each is one action or several, done together.

    `message` says what is written, in the imperative; it may quote the `{names}` of the rule's words. `reveals`: rules
    that may warn of the mended program though they did not before: it has whole windows for the first time, where the
    user's own gate closes them, and what is left over of the epoch is outside of them; it divides by their length, and
    the last one is shorter; or a scaler skips its steps.
    """

    safety: Safety
    message: str
    ways: tuple[tuple[Action, ...], ...]
    reveals: tuple[str, ...] = ()


def safe(message: str, *ways: Action | tuple[Action, ...], reveals: tuple[str, ...] = ()) -> Remedy:
    """A remedy after which the program does what its source says; it changes no correct program."""
    return Remedy(Safety.SAFE, message, tuple(way if isinstance(way, tuple) else (way,) for way in ways), reveals)


def unsafe(message: str, *ways: Action | tuple[Action, ...], reveals: tuple[str, ...] = ()) -> Remedy:
    """A remedy that guesses what was meant."""
    return Remedy(Safety.UNSAFE, message, tuple(way if isinstance(way, tuple) else (way,) for way in ways), reveals)
