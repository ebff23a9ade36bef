"""The training loops of a program, drawn one by one, for people and as JSON."""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from typing import Any

from amplint.findings import Place, TrainingLoop

_PARTS = ("window", "divisor", "scaler", "clip", "step", "zero_grad", "scheduler")


def text(loops: Sequence[TrainingLoop]) -> str:
    """Each loop as one drawn line, its parts below it, and what could not be followed; empty for no loops."""
    return "\n".join(_drawn(loop) for loop in loops)


def _drawn(loop: TrainingLoop) -> str:
    where = f"{loop.filename}:{_at(loop.place)}"
    lines = [f"{where}: {loop.function or 'module'}", f"    {loop.drawn or '(nothing of it was followed)'}"]
    lines += [f"    {name + ':':<11}{getattr(loop, name)}" for name in _PARTS]
    lines += [f"    not followed, {_at(place)}: {why}" for place, why in loop.not_followed]
    return "\n".join(lines) + "\n"


def _at(place: Place) -> str:
    cell = f"cell {place.cell}:" if place.cell is not None else ""
    return f"{cell}{place.row}:{place.column}"


def as_json(loops: Sequence[TrainingLoop]) -> str:
    """A list with one object for each loop; paths are absolute."""
    return json.dumps([_object(loop) for loop in loops], indent=2) + "\n"


def _object(loop: TrainingLoop) -> dict[str, Any]:
    return {
        "filename": os.path.abspath(loop.filename),
        "cell": loop.place.cell,
        "location": _start(loop.place),
        "function": loop.function or None,
        **{name: getattr(loop, name) for name in _PARTS},
        "drawn": loop.drawn,
        "not_followed": [
            {"location": _start(place), "cell": place.cell, "why": why} for place, why in loop.not_followed
        ],
    }


def _start(place: Place) -> dict[str, int]:
    return {"row": place.row, "column": place.column}
