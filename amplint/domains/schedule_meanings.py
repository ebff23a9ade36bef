"""What the numbers of a schedule are meant for, where the whole run shows more than they do by themselves.

Numbers that papers give in epochs may be the ends of epochs, counted in batches; and what something counts that has a
length is known only if a loop went through it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from amplint.dialects import vocabulary as words
from amplint.dialects.vocabulary import within
from amplint.flow import program as ir
from amplint.protocol.cadence import EPOCHS, MICRO_BATCHES, UPDATES
from amplint.protocol.events import Kind
from amplint.protocol.values import with_changes
from amplint.state.run import Run
from amplint.state.values import Keywords, Symbol, Value

NUMBERS = "numbers"
"""The detail that holds the numbers by which a schedule is taken to be meant for epochs."""
OF_A_RANK = "a share of the ranks"
"""The tag of what a rank is handed alone: a `DistributedSampler`, and the batches of a loader that has one."""
UNSHARED = "before its ranks share "
"""The tag of what was counted in a loader as it was made begins with this; in a schedule's detail, what it was."""
LENGTH = "length of"
"""The detail that holds of what a horizon is the length."""
BOUNDED = "bounded"
"""The detail of a schedule in a run that is over after so many steps."""
_PREFIX, _NUMBER = "length of ", "the number "
_LOADER = within(words.LOADER)
_ALL_STEPS = re.compile(r"(?i)(max|total|num|n)_?(train(ing)?_?)?(steps|iters|iterations|updates)$|(steps|iters)_?max$")


def tag_of(text: str) -> str:
    """The tag of what was counted in something."""
    return f"{_PREFIX}{text}"


def length_of(tag: str) -> str:
    """In what was counted what has this tag, empty if the tag says something else."""
    return tag.removeprefix(_PREFIX) if tag.startswith(_PREFIX) else ""


def unshared(value: Value) -> frozenset[str]:
    """The tag of the length of a loader of which no rank has been handed a share yet; none if one has."""
    if not isinstance(value, Symbol) or OF_A_RANK in value.tags or not is_loader(value):
        return frozenset()
    return frozenset({f"{UNSHARED}{value.text}"})


def is_loader(value: Symbol) -> bool:
    """Whether something hands out batches, by what made it or by its name."""
    return "loaded" in value.tags or _LOADER(value.name)


def gone_through(run: Run, loader: Symbol) -> None:
    """Notes that a loop goes through a loader which the ranks share, or through one that each has for itself."""
    (run.horizons.shared if OF_A_RANK in loader.tags else run.horizons.unshared).add(loader.text)


def shared_out(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """`shared_out(loader)`: a loader of which each rank is handed a share, as far as it is known to be one; anything
    else as it is."""
    value = args[0]
    if not isinstance(value, Symbol) or not is_loader(value):
        return value
    return with_changes(value, tags=value.tags | {OF_A_RANK})


def settle(run: Run) -> None:
    """Takes back that schedules are meant for epochs where the run shows that their numbers are something else."""
    lengths = set(_lengths(run))
    bounded = any(_ALL_STEPS.search(text) and _counts_steps(run, text) for text in {*run.turns, *run.compared})
    for said in _made(run):
        numbers = said.pop(NUMBERS, "").split()
        whole = [int(one) for one in numbers if one.isdecimal()]
        if len(whole) > 1 and any(n > 1 and all(one % n == 0 for one in whole) for n in lengths):
            said.pop("meant", None)
        elif bounded and said.get("meant") == EPOCHS:
            said[BOUNDED] = "yes"


def compare(run: Run, left: Value, right: Value) -> None:
    """Notes that two numbers are compared, one of which may be how many batches an epoch has."""
    if run.in_batches and isinstance(left, int) and isinstance(right, int):
        micro, updates, _ = run.passed
        for bound, value in ((left, right), (right, left)):
            run.compared.setdefault(f"{_NUMBER}{int(bound)}", []).append((int(value), micro, updates))


def _lengths(run: Run) -> Iterator[int]:
    """The numbers of batches that an epoch has: those of a range, or with which an index of batches is compared."""
    for text, units in run.turns.items():
        if text.isdecimal() and units & {MICRO_BATCHES, UPDATES}:
            yield int(text)
    for text, rows in run.compared.items():
        if text.startswith(_NUMBER) and _runs_along(rows):
            yield int(text.removeprefix(_NUMBER))


def _runs_along(rows: list[tuple[int, int, int]]) -> bool:
    """Whether a number grows with the micro-batches, from anew in each epoch perhaps."""
    return len({row[0] for row in rows}) > 2 and 2 * len({row[0] - row[1] for row in rows}) < len(rows)


def _counts_steps(run: Run, text: str) -> bool:
    """Whether a run is bounded by something that counts micro-batches or updates."""
    if run.turns.get(text, set()) & {MICRO_BATCHES, UPDATES}:
        return True
    seen = run.compared.get(text, [])
    return any(len({row[place] for row in seen}) > 2 for place in (1, 2))


def unsettle(run: Run) -> None:
    """Takes back what a horizon counts that is the length of something through which no loop has gone."""
    for said in _made(run):
        text = said.pop(LENGTH, "")
        if text and not _gone_through(run, text):
            for key in ("unit", "exact"):
                said.pop(key, None)


def _gone_through(run: Run, text: str) -> bool:
    """Whether batches come out of something, as far as its name or the loops of the run tell."""
    others = any(other.startswith(f"{text}.") for other in run.lengths)
    return text in run.lengths or (bool(_LOADER(text)) and not others)


def _made(run: Run) -> Iterator[dict[str, str]]:
    """What is said of each schedule, where it is made."""
    return (event.detail for event in run.events if event.kind is Kind.CREATE)
