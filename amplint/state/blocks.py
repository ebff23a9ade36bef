"""The blocks of `with` statements that wait for the generator of their context to hand out something."""

from __future__ import annotations

from dataclasses import dataclass, field

from amplint.flow import program as ir
from amplint.state.scopes import Module, Scope
from amplint.state.signals import Signal
from amplint.state.values import Value


@dataclass
class Block:
    """The block of a `with` statement, that waits for the `yield` of the generator `manager`.

    `around`: how many calls, conditions and generators it stands in. `signal`: how it ended.
    """

    node: ir.With
    scope: Scope
    manager: ir.Function
    here: Module | None
    around: tuple[int, int, int]
    entered: bool = False
    signal: Signal = None


@dataclass
class Yielded:
    """What a generator has handed out, and the block that runs where it does so, if it is a context manager.

    `endless`: it goes through something that never comes to an end."""

    values: list[Value] = field(default_factory=list)
    block: Block | None = None
    endless: bool = False
