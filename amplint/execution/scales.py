"""Whether a loss that comes from code which is not seen may carry a loss scale already."""

from __future__ import annotations

import builtins
import re

from amplint.dialects import vocabulary as words
from amplint.dialects.vocabulary import within
from amplint.execution import roles
from amplint.execution.run import Run
from amplint.execution.values import Symbol
from amplint.protocol.events import Kind

_SCALED = within(words.SCALED)
_CALLED = re.compile(r"([A-Za-z_][\w.]*)\((\w*)")
_NAMES = re.compile(r"(?<![\w.])[A-Za-z_][\w.]*")


def scaled(run: Run, symbol: Symbol) -> bool | None:
    """None where it may: a symbol called scaled, one that no call in the run has made (an argument, its attributes and
    elements), and what calls of those return, which may have the scaler. Another one, and what a model returns, is not
    scaled."""
    called = _CALLED.findall(symbol.text)
    if not called or _SCALED(symbol.text) or not run.holders.isdisjoint(_NAMES.findall(symbol.text)):
        return None
    return None if any(_has_scaler(run, *one) for one in called) else False


def _has_scaler(run: Run, called: str, first: str) -> bool:
    """Whether what is called may scale: an argument that is no model, where the scaler is handed in too, or the object
    whose method runs. Who scales a loss in the module scales all that are to be."""
    parts = called.split(".")
    if any("scale" in used for used in run.program.usage.values()):
        return False
    if any(roles.is_model(run, Symbol(part)) for part in parts):
        return False
    root = first if len(parts) == 1 and hasattr(builtins, called) else parts[0]
    made = any(event.kind is Kind.SCALER_CREATED for event in run.events)
    return root == "self" or (root in run.given and not made)
