"""Methods of lists and dicts whose contents the machine knows."""

from __future__ import annotations

from amplint.machine import tables
from amplint.state import mappings
from amplint.state.records import as_dict
from amplint.state.run import Run
from amplint.state.values import Incomplete, Keywords, Value


def call(run: Run, owner: list[Value] | dict[Value, Value], name: str, args: list[Value], keywords: Keywords) -> Value:
    """`owner.name(...)`, with all that it does to the list or dict."""
    if isinstance(owner, dict) and name == "update":
        unknown = isinstance(keywords, Incomplete) or not all(isinstance(one, dict) for one in args)
        mappings.update(owner, as_dict(keywords), unknown, run.in_batches > 0)
    if isinstance(owner, dict) and name == "get" and args and (found := tables.get(run, owner, args)) is not None:
        return found
    return mappings.call(owner, name, _gathered(run, args) if owner == [] and name == "extend" else args)


def _gathered(run: Run, args: list[Value]) -> list[Value]:
    """What an empty list is extended by: as many elements as an epoch has, where nobody knows how many there are."""
    if len(args) != 1 or isinstance(args[0], (list, tuple)):
        return args
    stream = run.stream_of(args[0])
    return [[stream.item(index) for index in range(stream.length or run.model.batches)]]
