"""What `amplint loops` tells: the training loops of files, as they were understood."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

from amplint.dialects.taught import taught, words_of
from amplint.findings import TrainingLoop
from amplint.outcome import Candidate
from amplint.run import found_files, prefilter, told_fault
from amplint.settings import Settings
from amplint.source.prefilter import holds_training_words
from amplint.source.reading import Unparsable, Unreadable
from amplint.workers import spread

PATIENCE = 4
"""How many times as many runs as for a check are tried to draw a loop."""


@dataclass(frozen=True)
class LoopOutcome:
    """Training loops in order, the files that could not be read and why, and the paths that do not exist."""

    loops: tuple[TrainingLoop, ...] = ()
    lost: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()


def loops(paths: Sequence[str], settings: Settings, jobs: int | None = None) -> LoopOutcome:
    """The training loops of files and folders, as they were understood, by place."""
    found = found_files(paths, settings)
    work = partial(loops_of_file, settings=settings)
    results = [result for _, result in spread(work, prefilter(found, words_of(settings.dialects)), _lost_loops, jobs)]
    return LoopOutcome(
        tuple(sorted((loop for result in results for loop in result.loops), key=lambda loop: loop.order)),
        tuple(sorted(line for result in results for line in result.lost)),
        found.missing,
    )


def loops_of_file(candidate: Candidate, settings: Settings) -> LoopOutcome:
    """The training loops of one file, or why it could not be read."""
    from amplint.analysis import loops_of

    if candidate.unreadable or not holds_training_words(candidate.data, words_of(settings.dialects)):
        return LoopOutcome(lost=(f"{candidate.filename}: {candidate.unreadable.why}",) if candidate.unreadable else ())
    try:
        script, dialects = candidate.script, taught(settings.dialects)
        found = loops_of(script.text, candidate.filename, dialects, patience=PATIENCE)
        return LoopOutcome(tuple(map(script.placed_loop, found)))
    except (Unreadable, Unparsable) as problem:
        return LoopOutcome(lost=(f"{candidate.filename}: {problem.why}",))
    except Exception as fault:
        return LoopOutcome(lost=(f"{candidate.filename}: a fault of amplint's own: {told_fault(fault)}",))


def _lost_loops(candidate: Candidate) -> LoopOutcome:
    return LoopOutcome(lost=(f"{candidate.filename}: the process that was reading it ended without a word",))
