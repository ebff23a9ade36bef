"""Criteria of torch, and how they reduce: by their arguments a mean, a sum, or something of which nobody can tell."""

from __future__ import annotations

from itertools import chain

from amplint.dialects import DIALECTS
from amplint.domains import ignored, told_windows
from amplint.state.run import Run
from amplint.state.values import Criterion, Incomplete, Keywords, Public, Value

NAMES = frozenset(chain.from_iterable(dialect.losses for dialect in DIALECTS))
"""Public functions that are criteria."""


def criterion_of(run: Run, value: Value, keywords: Keywords) -> Criterion | None:
    """The criterion that a value is: an object of one, or a public function that is one."""
    if isinstance(value, Public) and value.name in NAMES:
        return made(run, value.name, [], keywords)
    return value if isinstance(value, Criterion) else None


_WEIGHTS = ("weight", "pos_weight")


def made(run: Run, name: str, args: list[Value], keywords: Keywords) -> Criterion:
    """A criterion; whether it averages is not known where its weights speak of the window."""
    reduction = _reduction(args, keywords)
    averaged = reduction in ("mean", "batchmean") if isinstance(reduction, str) else None
    if averaged and told_windows.speaks_of_window(run, [keywords[one] for one in _WEIGHTS if one in keywords]):
        averaged = None
    short = name.rpartition(".")[2]
    return Criterion(averaged, reduction == "none", short, ignored.by_criterion(short, keywords))


def _reduction(args: list[Value], keywords: Keywords) -> Value:
    """How a criterion of torch's reduces (torch 2.13, `nn/_reduction.py`, `legacy_get_string`): the only argument that
    is a string, or what two older ones say; None where it may be among those that are not known."""
    given = keywords.get("reduction", next((value for value in args if isinstance(value, str)), None))
    older = [keywords.get(name) for name in ("reduce", "size_average")]
    if given is not None or older == [None, None]:
        return "mean" if given is None and not (isinstance(keywords, Incomplete) and keywords.by_name) else given
    known = all(value is None or isinstance(value, bool) for value in older)
    return ("none" if older[0] is False else "sum" if older[1] is False else "mean") if known else None
