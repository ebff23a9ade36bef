"""Autocast and `no_sync` contexts, as values of a program, and what is open of them."""

from __future__ import annotations

from dataclasses import dataclass, field

from amplint.flow import program as ir
from amplint.protocol.events import Site
from amplint.protocol.precision import Precision
from amplint.protocol.ranks import Wrapper
from amplint.state.values import Incomplete, Keywords, Value


@dataclass(frozen=True)
class Autocast:
    """An autocast context that has not been entered; `device` is `cuda`, `cpu` or None when it is not known, and then
    `asked` is what stands there."""

    device: str | None
    dtype: Value = None
    enabled: Value = True
    asked: Value = None


@dataclass(frozen=True)
class Region:
    """The region that the program is in, and the kind of device that it is for; `off`: it was entered switched off."""

    precision: Precision
    device: str | None = None
    off: bool = False


@dataclass(frozen=True)
class Partial:
    """A function with some of its arguments given."""

    function: Value
    args: tuple[Value, ...]
    keywords: tuple[tuple[str, Value], ...]
    whole: bool = True
    """Whether no others were given that are not known."""

    def given(self, more: Keywords) -> Keywords:
        """All keyword arguments of a call that gives some more."""
        every: Keywords = {**dict(self.keywords), **more}
        return every if self.whole and not isinstance(more, Incomplete) else Incomplete(every)


@dataclass(eq=False)
class Stack:
    """A `contextlib.ExitStack`: what it calls when it is left, and where that was said."""

    later: list[tuple[Partial, ir.Span]] = field(default_factory=list)


@dataclass(frozen=True)
class NoSync:
    """`model.no_sync()`, not entered yet."""

    model: str


@dataclass(frozen=True)
class Averaged:
    """An object of a class that is known to average weights; `method` is what takes the present ones in."""

    method: str


@dataclass(frozen=True)
class Builtin:
    """A builtin function."""

    name: str


@dataclass(frozen=True)
class Forward:
    """A forward of a wrapped model, in a micro-step. `held`: its gradients are not to be reduced; `stack`: the calls
    that led there."""

    model: str
    wrapper: Wrapper
    held: bool
    site: Site
    stack: tuple[Site, ...]
    tick: int


@dataclass
class Ranks:
    """What a run knows of its other processes.

    `held`: the models inside their `no_sync`; `off`: those whose reduction was switched off by hand; `switched`: on or
    off. `forwards`: since the backward before; `spent`: the next forward begins anew. `ran`: what was called or handed
    on since then. `all_held`: a framework has entered `no_sync` of each. `inner`: what was wrapped, as it was before.
    `guards`: the branches that only some ranks go into, with the condition that says so.
    """

    held: frozenset[str] = frozenset()
    off: set[str] = field(default_factory=set)
    switched: set[str] = field(default_factory=set)
    forwards: list[Forward] = field(default_factory=list)
    spent: bool = False
    ran: set[str] = field(default_factory=set)
    all_held: bool = False
    inner: list[Value] = field(default_factory=list)
    guards: dict[tuple[tuple[Site, ...], int], str] = field(default_factory=dict)
