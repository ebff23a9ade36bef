"""What can be drawn from for ever: it has no epochs, and nothing is left over at their end."""

from __future__ import annotations

from amplint.dialects import vocabulary as words
from amplint.dialects.vocabulary import within
from amplint.flow import program as ir
from amplint.machine import attributes
from amplint.state.run import Run
from amplint.state.values import Instance, Method, Stream, Symbol, Value, last_part

_WORDS = within(words.ENDLESS)


def has_no_end(run: Run, value: Value) -> bool:
    """Whether it is known, or said by a name where nothing else is known, that something never comes to an end."""
    if isinstance(value, Stream):
        return value.endless
    if isinstance(value, Symbol):
        return value.endless or says_endless(value.text)
    if not isinstance(value, Instance):
        return False
    begins = attributes.read(run, value, "__iter__")
    return isinstance(begins, Method) and isinstance(node := begins.function.node, ir.Function) and node.endless


def is_streamed(run: Run, value: Value) -> bool:
    """Whether something is gone through and never asked for its n-th element: an `IterableDataset` of the program."""
    if not isinstance(value, Instance) or isinstance(attributes.read(run, value, "__getitem__"), Method):
        return False
    return isinstance(attributes.read(run, value, "__iter__"), Method)


def spends(body: tuple[ir.Stmt, ...]) -> bool:
    """Whether a loop is left as soon as a number has come up to another: its budget."""
    for node in (one for one in body if isinstance(one, ir.If)):
        leaves = bool(node.body) and isinstance(node.body[-1], ir.Leave) and node.body[-1].how == "break"
        if (leaves and isinstance(node.test, ir.Compare) and node.test.op in (">=", ">", "==")) or spends(node.body):
            return True
    return False


def says_endless(text: str) -> bool:
    """Whether what is not seen says by its name that it has no end: `infinite_loader(data)`, or `data.repeat()`, which
    tf.data and WebDataset repeat for ever where no number is given."""
    called, parenthesis, _ = text.partition("(")
    again = bool(parenthesis) and last_part(called) == "cycle"
    return again or text.endswith(".repeat()") or _WORDS(called)
