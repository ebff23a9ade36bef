"""Methods that a class leaves to those who derive from it, and that may take part in the step there."""

from __future__ import annotations

from amplint.dialects.public import QUIET
from amplint.dialects.unseen import may_take_part
from amplint.flow import program as ir
from amplint.lower.names import last


def is_left_open(node: ir.Function) -> bool:
    """Whether a method is abstract, or only refuses, and no word of its own says that it only looks or computes."""
    refuses = len(node.body) == 1 and isinstance(node.body[0], ir.Leave) and node.body[0].how == "raise"
    abstract = refuses or any(last(one) == "abstractmethod" for one in node.decorators)
    return abstract and may_take_part(node.name) and node.name not in QUIET
