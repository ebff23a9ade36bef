"""Methods that a class leaves to those who derive from it, and that may take part in the step there."""

from __future__ import annotations

from amplint.dialects import vocabulary as words
from amplint.dialects.public import QUIET
from amplint.dialects.unseen import only_prepares, only_reads, only_runs
from amplint.dialects.vocabulary import within
from amplint.flow import program as ir
from amplint.lower.names import last

_HELD = within(words.MODEL, words.CRITERION, words.CRITERION_ITSELF)


def is_left_open(node: ir.Function) -> bool:
    """Whether a method is abstract, or only refuses, and no word of its own says that it only looks or computes."""
    refuses = len(node.body) == 1 and isinstance(node.body[0], ir.Leave) and node.body[0].how == "raise"
    if not refuses and not any(last(one) == "abstractmethod" for one in node.decorators):
        return False
    name = node.name
    computes = only_reads(name) or only_runs(name) or only_prepares(name) or _HELD(name)
    return not (computes or name in QUIET)
