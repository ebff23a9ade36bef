"""What happens when a program is run on the model: its runs, each with its events and its choices."""

from __future__ import annotations

from textwrap import dedent

from amplint.flow.choices import all_runs
from amplint.lower.prune import program_of
from amplint.lower.statements import Statements
from amplint.machine.entry_points import Entry, entries, play
from amplint.protocol.events import Kind
from amplint.source.parse import parse
from amplint.state.model import Again, Model
from amplint.state.run import Run

HEAD = """\
import torch
model = torch.nn.Linear(4, 3)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
criterion = torch.nn.CrossEntropyLoss()
"""


def runs_of(text: str, head: str = HEAD, entry: int = 0) -> list[Run]:
    """All runs from the module itself, or from the entry with that number."""
    program = program_of("train.py", Statements(parse(head + dedent(text))).module())
    start: Entry = list(entries(program))[entry]
    model = Model()
    while True:
        try:
            return all_runs(lambda forced, beside: play(program, start, model, forced))[0]
        except Again:
            continue


def only(text: str, **parts: object) -> Run:
    """The run of a program that decides nothing."""
    (run,) = runs_of(text, **parts)  # type: ignore[arg-type]
    return run


LETTERS = {
    Kind.BACKWARD: "b",
    Kind.STEP: "s",
    Kind.SCALER_STEP: "s",
    Kind.ZERO_GRAD: "z",
    Kind.EPOCH_END: "|",
    Kind.OPAQUE: "?",
    Kind.CLIP: "c",
}


def story(run: Run) -> str:
    """The events of a run, one letter each, those that have one."""
    return "".join(LETTERS.get(event.kind, "") for event in run.events)
