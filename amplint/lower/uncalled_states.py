"""The `state_dict` of a scaler, named where its state is meant: the parentheses are missing."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator

from amplint.dialects import vocabulary as words
from amplint.dialects.syntax import LOAD, SAVE
from amplint.dialects.vocabulary import within
from amplint.flow import program as ir
from amplint.lower.checkpoints import blocks
from amplint.lower.names import binds, dotted, last, walk
from amplint.protocol.events import Site
from amplint.protocol.facts import LOADED, SAVED, Fact

_SCALER = within(words.SCALER)
_CALLED = re.compile(r"\b\w+\(\)(?=.*\bfor\b)")
"""A call in a dict comprehension, which is kept as its text."""


def uncalled_states(path: str, body: tuple[ir.Stmt, ...]) -> Iterator[Fact]:
    """Where the method itself is put into what a function saves, or among the names under which it looks for a state
    that it has loaded with torch. Functions that call what they find in a loop are left alone.
    """
    for block in blocks(body):
        nodes = [part for statement in block for part in walk(statement)]
        calls = [node for node in nodes if isinstance(node, ir.Call)]
        done = {dotted(call.func) for call in calls}
        texts = {name for node in nodes if isinstance(node, ir.Text) for name in _CALLED.findall(node.text)}
        if {SAVE, LOAD}.isdisjoint(done) or texts or not _in_a_loop(nodes).isdisjoint(done):
            continue
        kind = SAVED if SAVE in done else LOADED
        for found in _held(nodes):
            yield Fact(kind, Site(path, *found.at), {"optimizer": True, "scaler": False, "uncalled": dotted(found)})


def _in_a_loop(nodes: Iterable[object]) -> set[str]:
    """The names that loops set anew in each turn."""
    loops = (node for node in nodes if isinstance(node, (ir.For, ir.Comprehension)))
    return {name for loop in loops for name in binds(loop.target)}


def _held(nodes: Iterable[object]) -> Iterator[ir.Attr]:
    """The methods that lists and dicts hold, that are stored in one, or that are saved."""
    for node in nodes:
        values: tuple[object, ...] = ()
        if isinstance(node, ir.Display):
            values = node.items
        elif isinstance(node, ir.Mapping):
            values = tuple(value for _, value in node.items)
        elif isinstance(node, ir.Assign) and isinstance(node.target, ir.Item):
            values = (node.value,)
        elif isinstance(node, ir.Call) and dotted(node.func) == SAVE:
            values = node.args[:1]
        attributes = (value for value in values if isinstance(value, ir.Attr) and value.name == "state_dict")
        yield from (found for found in attributes if _SCALER(last(found.owner)))
