"""What the result of an operation on numbers counts."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

from amplint.dialects.vocabulary import within
from amplint.domains import schedule_meanings
from amplint.domains.schedule_meanings import OF_A_RANK, UNSHARED
from amplint.protocol.cadence import (
    EACH_AGAIN,
    EPOCHS_AGAIN,
    MICRO_BATCHES,
    OF_ALL_RANKS,
    OVER_EPOCHS,
    SHARED_AGAIN,
    UPDATES,
    WHOLE_ONLY,
)
from amplint.state.counting import as_attribute, names_epochs, tags_of
from amplint.state.run import Run
from amplint.state.values import Condition, Symbol, Value, text_of

_PROCESSES = ("num_processes", "world_size", "worldsize")
"""How people call the number of processes. A prepared scheduler steps so many times at every update (accelerate 1.15,
`scheduler.py`, `step`)."""

WITH_A_REST = "with a rest"
"""The tag of the length of a data set of which a loader hands out what does not fill a batch, too."""

BATCHED = "handed out in batches of several"
"""The tag of the length of a data set of which loaders put several samples into each batch."""

OF_EVERY_RANK = "the batches of every rank"
"""The tag of batches that were counted by the samples of a data set, of which no rank has a share."""

EPOCHS_BEFORE = "epochs of a loader not shared yet"
"""The tag of steps divided by an epoch of them, counted before a framework has its ranks share the loader."""

_OF_STEPS = "epochs of "
"""The tag of steps divided by an epoch of those of one rank begins with this."""

QUOTIENT = "a quotient"
"""The tag of what a window's length was divided out of, as a whole and last of all."""

ALL_EPOCHS = "of all epochs"
"""The tag of an epoch's batches, multiplied by the number of epochs."""

EXACT = frozenset({BATCHED, OF_ALL_RANKS, OF_EVERY_RANK, WITH_A_REST, WHOLE_ONLY})
"""What is true of a number as it is, and of none that is a little more or less."""


def of_result(run: Run, op: str, left: Value, right: Value, windows: Sequence[bool]) -> frozenset[str]:
    """What the result of an operation counts. `windows`: which of both is the length of a window."""
    counted = [tags for tags in (tags_of(left), tags_of(right)) if op not in ("+", "-") or not _counts_epochs(tags)]
    found = frozenset().union(*counted) - {"window", QUOTIENT}
    if not found and op in ("/", "//") and _is_size(run, right) and _names_samples(left):
        found = frozenset({"samples"})
    if not found and not any(windows):
        return found  # of what counts nothing, the result counts nothing
    found = _in_all_epochs(op, found, left, right)
    if op == "*" and any(map(names_processes, map(text_of, (left, right)))) and any(map(_is_of_every_rank, found)):
        found |= {EACH_AGAIN}
    if any(map(_is_exact, found)) and not _keeps(run, op, left, right, windows):
        found = frozenset(tag for tag in found if not _is_exact(tag))
    if op == "-" and tags_of(left) and "parts" not in tags_of(left):
        found -= {"parts"}  # a total less a part of it
    if op == "*" and OF_A_RANK in found and not _keeps(run, op, left, right, windows):
        found -= {OF_A_RANK}
    if op in ("*", "/", "//") and not _is_share(op, left, right):
        found -= {"epochs"}  # so many of them: no number of epochs any more
    if op in ("*", "/", "//"):
        found = frozenset(tag for tag in found if not tag.startswith(_OF_STEPS))
    if op in ("/", "//"):
        if not tags_of(left) and "batches" in tags_of(right):
            found |= {f"{_OF_STEPS}{text_of(left)}" if run.handed else EPOCHS_BEFORE}
        by_size = _is_size(run, right) and not windows[1]
        if by_size and ("samples" in found or ("batches" in found and "loaded" not in found)):
            found |= {WHOLE_ONLY} if op == "//" and WITH_A_REST in found else set()
            held = {tag for tag in found if not schedule_meanings.length_of(tag)} - {"samples", BATCHED, WITH_A_REST}
            held |= {OF_EVERY_RANK} if OF_ALL_RANKS not in found else set()
            return frozenset(held | {"batches"})  # what is not known to be a loader holds samples, then
        found |= {"shrunk"} if by_size and "loaded" in found else set()
        if OF_A_RANK in found and names_processes(text_of(right)):
            return found | {SHARED_AGAIN}
        found |= {"divided"} if windows[1] or "multiplied" in tags_of(right) else {"parts"} if right != 1 else set()
        found |= {QUOTIENT} if op == "/" and windows[1] else set()
    if op == "*" and any(windows):
        found = found - {"divided"} if "divided" in found else found | {"multiplied"}
    if op == "*" and any(isinstance(value, (Fraction, float)) and not tags_of(value) for value in (left, right)):
        found |= {"parts"}
    return found if found - {"divided", "parts"} or any(windows) else frozenset()


def _in_all_epochs(op: str, found: frozenset[str], left: Value, right: Value) -> frozenset[str]:
    """The tags of batches or samples that are multiplied or divided by the number of epochs: once is as it should be,
    twice is too many, and divided they are too few."""
    if not found & {"batches", "samples"} or "epochs" not in found:
        return found
    if op == "*":
        return found | {EPOCHS_AGAIN if ALL_EPOCHS in found else ALL_EPOCHS}
    if op not in ("/", "//") or "epochs" not in tags_of(right):
        return found
    return found - {ALL_EPOCHS} if ALL_EPOCHS in found else found | {OVER_EPOCHS}


def _is_exact(tag: str) -> bool:
    """Whether what a tag says is true of a number as it is, and of none that is a little more or less."""
    return tag in EXACT or tag.startswith(UNSHARED)


def _is_of_every_rank(tag: str) -> bool:
    """Whether a tag says that no rank has been handed a share yet of what is counted."""
    return tag == OF_EVERY_RANK or tag.startswith(UNSHARED)


def _counts_epochs(tags: frozenset[str]) -> bool:
    """Whether a number is a quotient by an epoch's steps: so many epochs, and no steps any more."""
    return EPOCHS_BEFORE in tags or any(map(divided_by_an_epoch, tags))


def _is_size(run: Run, value: Value) -> bool:
    """Whether a number is how many samples a loader puts into a batch."""
    return as_attribute(text_of(value)) in map(as_attribute, run.batch_sizes)


_SAMPLES = within("sample samples example examples")


def _names_samples(value: Value) -> bool:
    """Whether a number is, by its name, how many samples there are, or as many as an alternative says."""
    if isinstance(value, Condition) and value.op == "or":
        return any(map(_names_samples, value.parts))
    return type(value) is Symbol and _SAMPLES(value.name)


def _is_share(op: str, left: Value, right: Value) -> bool:
    """Whether a number is but a share of another one, by a literal."""
    if op == "*":
        return any(isinstance(value, (Fraction, float)) and not tags_of(value) for value in (left, right))
    return type(right) is int


def _keeps(run: Run, op: str, left: Value, right: Value, windows: Sequence[bool]) -> bool:
    """Whether a number of samples or batches is what it was but for the batch, the window and the epochs."""
    if op in ("/", "//"):
        return not tags_of(right) and (_is_size(run, right) or windows[1])
    other = left if any(tag == OF_A_RANK or _is_exact(tag) for tag in tags_of(right)) else right
    epochs = "epochs" in tags_of(other) or (isinstance(other, Symbol) and names_epochs(other.text))
    return op == "*" and (epochs or type(other) is int)


def names_processes(text: str) -> bool:
    """Whether a number is, by its name, how many processes there are."""
    return text.removesuffix("()").lower().endswith(_PROCESSES)


def divided_by_an_epoch(tag: str) -> str:
    """What was divided by an epoch of a rank's steps, by the tag of the quotient; empty if it says something else."""
    return tag.removeprefix(_OF_STEPS) if tag.startswith(_OF_STEPS) else ""


def unit_of_epochs(tags: frozenset[str]) -> str:
    """In which unit an epoch was counted by which steps were divided."""
    return UPDATES if "divided" in tags else MICRO_BATCHES
