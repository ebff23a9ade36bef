"""What a name can hold while a program runs on the model, besides plain Python values: these stand for themselves."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from enum import Enum
from fractions import Fraction
from functools import lru_cache
from typing import TYPE_CHECKING, TypeAlias, TypeVar

from amplint.flow import program as ir
from amplint.protocol.events import Event, Site
from amplint.protocol.precision import Precision
from amplint.protocol.ranks import Wrapper
from amplint.protocol.values import quickly_made, with_changes
from amplint.state.counts import Length
from amplint.state.scopes import Scope

if TYPE_CHECKING:
    from amplint.state.contexts import Autocast, Averaged, Builtin, NoSync, Partial, Region, Stack

Value: TypeAlias = """(
    bool | int | float | Fraction | str | bytes | slice | list[Value] | tuple[Value, ...] | dict[Value, Value]
    | Symbol | Gated | Condition | Loss | Optimizer | Scaler | Scheduler | Criterion | Parameters | Gradient | Flow
    | Public | Function | Class | Instance | Method | Bound | Super | Stream
    | Autocast | NoSync | Partial | Region | Stack | Averaged | Builtin | None
)"""
Arguments = list[Value]
Keywords = dict[str, Value]
Key = TypeVar("Key")


class Origin(Enum):
    """Where an unknown value comes from, which says whether it can change while a loop runs."""

    RUN = "set before the loop: arguments, configuration, the machine"
    DATA = "computed from batches"
    OPAQUE = "returned by code that could not be followed"


SET = frozenset({"set"})
"""The tag of a number that the program sets, to what is not known: it does not run with the batches."""
OPTIMIZER = frozenset({"optimizer"})
"""The tag of an optimizer that is not known, and of several of them."""
_PLAIN = frozenset({str, bool, int, float, Fraction, type(None)})


@quickly_made
@dataclass(frozen=True)
class Symbol:
    """A value that is not known, by its canonical text.

    `offset` is a whole number added to it. `forward`: what a model returned, so that its loss is a mean over the batch.
    `governed`: it belongs to a framework that divides, scales, clips or gates by itself. `tags` say what a number
    counts (`batches`, `divided` by the window). `ran`: the precision of a forward, or of a model. `wrapper`: a model's.
    `half`: by float16 autocast. `present`: not None, whatever it is. `endless`. `given`: its optimizer, data set or
    device.
    """

    text: str
    origin: Origin = Origin.RUN
    offset: int = 0
    forward: bool = False
    governed: bool = False
    tags: frozenset[str] = frozenset()
    ran: Precision = field(default=Precision.UNKNOWN, compare=False)
    wrapper: Wrapper = field(default=Wrapper.NONE, compare=False)
    reach: frozenset[tuple[str, str]] = field(default=frozenset(), compare=False)
    half: bool = field(default=False, compare=False)
    present: bool = field(default=False, compare=False)
    endless: bool = field(default=False, compare=False)
    given: Value = field(default=None, compare=False)

    @property
    def name(self) -> str:
        """The last part of the text, without indexes: `accum` of `self.args.accum`, `optimizers` of `optimizers[*]`."""
        return last_part(self.text)


@lru_cache(maxsize=8192)
def last_part(text: str) -> str:
    """The last part of a dotted text, without indexes."""
    return text.rpartition(".")[2].partition("[")[0] or text


class Gathered(list[Value]):
    """A list that was empty at first: what is in it has been gathered one by one."""


class Incomplete(dict[Key, Value]):
    """A dict that may hold more: something was unpacked into it, `by_name` or by position, perhaps `of_batch`."""

    by_name = True
    of_batch = False


@quickly_made
@dataclass(frozen=True)
class Gated:
    """A truth that says whether this micro-step is the boundary of a window; `counter`: how its counter is spelled.

    `site`: the call that passed it on. `restarts`: its counter is an index over the batches; `assumed`: from where?
    `place`: where in the window it stands, if that is known.
    """

    value: bool
    length: str | None
    site: Site | None = None
    restarts: bool = False
    assumed: bool = False
    counter: str = ""
    place: int | None = None


@dataclass(frozen=True)
class Condition:
    """A truth that depends on symbols and has not been asked for yet."""

    op: str
    parts: tuple[Value, ...]
    texts: tuple[str, ...] = ()


@dataclass(eq=False)
class Trail:
    """What has happened to a loss and everything derived from it: `divided`, `scaled`: where such a copy was made;
    `scaled_used`: it was back-propagated. `shared`: a library divided (by what the user did, too). `born`: its
    micro-step and turn of adding up; `updates`: those before it. `passed`: it or a sum with it went back. `terms`:
    trails of terms. `kept`: the totals that it is. `continued`: what may hold some already. `perhaps`: None where
    unseen code may have scaled it. `of_all`: it is of all ranks. `off`: unscaled by it."""

    backed: bool = False
    divided: ir.Span | None = None
    scaled: ir.Span | None = None
    scaled_used: bool = False
    born: tuple[int, int] | None = None
    passed: bool = False
    terms: tuple[Trail, ...] = ()
    kept: frozenset[str] = frozenset()
    updates: int = 0
    continued: bool = False
    forward: Precision = Precision.UNKNOWN
    reach: frozenset[tuple[str, str]] = frozenset()
    shared: str | None = None
    perhaps: bool | None = False
    of_all: bool = False
    off: str = ""


@quickly_made
@dataclass(frozen=True)
class Loss:
    """A loss: the factor between the criterion's mean (`summed`: its sum over the batch) and it, None if not known.

    `divisor`: the window that it was divided by; `over`: what instead. `of`: what a known criterion was given.
    `attached`: it certainly carries its graph. `whole`: a model has returned it, whatever it is. `raw`: of a function
    not followed: no mean? `collected`: the sum over the ranks, not of its graph. `ignores`: targets that it leaves out.
    `constant`: the part of `weight` that it was multiplied by as a number without a meaning, `0.5 * loss`.
    """

    weight: Fraction | None
    factors: frozenset[str] = frozenset()
    scaler: Scaler | None = None
    divisor: str | None = None
    over: str | None = None
    of: frozenset[str] = frozenset()
    summed: bool = False
    trail: Trail = field(default_factory=Trail, compare=False)
    attached: bool = field(default=True, compare=False)
    whole: bool = field(default=False, compare=False)
    raw: bool = field(default=False, compare=False)
    collected: bool = field(default=False, compare=False)
    ignores: str = field(default="", compare=False)
    constant: Fraction = field(default=Fraction(1), compare=False)

    @property
    def share(self) -> Fraction | None:
        """The weight; of a loss that is divided by its window, without the constant that it is weighed by besides."""
        known = self.weight is not None and self.divisor is not None and self.constant != 0
        return self.weight / self.constant if self.weight is not None and known else self.weight

    def times(self, factor: Value, text: str) -> Loss:
        """The loss multiplied by a number, or by a symbol of which only the text is known."""
        if isinstance(factor, (int, Fraction)):
            return with_changes(self, weight=None if self.weight is None else self.weight * factor)
        return with_changes(self, factors=self.factors | {text})


@dataclass(eq=False)
class Optimizer:
    """A torch optimizer, or what is used as one. `precision`: of its parameters; `whole`: they are all of `models`;
    `hooked`: which hooks of the user's run around its steps; `made`: where; `due`: what its step counts on; `fused`: it
    unscales by itself; `has`: all that its class has, as far as known."""

    key: str
    algorithm: str | None = None
    models: frozenset[str] = frozenset()
    governed: bool = False
    precision: Precision = Precision.UNKNOWN
    whole: bool = False
    hooked: frozenset[str] = frozenset()
    made: ir.Span | None = None
    due: dict[str, str] = field(default_factory=dict)
    fused: bool = False
    has: frozenset[str] = frozenset()


@dataclass(eq=False)
class Scaler:
    """A gradient scaler. `enabled` is decided when it is first used.

    `known`: torch's own, so that what its methods do is known. `maker`: where it was made, () when not known or when
    its state does not begin there. `sharded`: ranks agree on skips. `of_cuda`: its device is. `marks`: of its events.
    """

    key: str
    enabled: Value = True
    known: bool = False
    maker: tuple[Site, ...] = ()
    sharded: bool = False
    of_cuda: bool = False
    marks: dict[str, str] = field(default_factory=dict)


@dataclass(eq=False)
class Scheduler:
    """A learning-rate scheduler, its optimizer, the schedulers that it steps itself, and what was said of it.

    `factors`: the functions that its rates are multiplied by. `base`: of a class of the program's own, torch's;
    `begins`: its constructor is being run, which steps once (torch 2.13, `LRScheduler.__init__`)."""

    key: str
    optimizer: Optimizer | None = None
    parts: tuple[Scheduler, ...] = ()
    said: dict[str, str] = field(default_factory=dict)
    factors: tuple[Value, ...] = ()
    base: str = ""
    begins: bool = False


@dataclass(frozen=True)
class Criterion:
    """A loss function object of torch, called `name`; `averaged` is False for reduction='sum', None: not known;
    `ignores`: the value of targets that it leaves out, empty if it leaves out none."""

    averaged: bool | None = True
    elementwise: bool = False
    name: str = ""
    ignores: str = ""


@dataclass(frozen=True)
class Parameters:
    """The parameters of a model (its text, or None), or of an optimizer (`holder`); `parts`: what tells it apart."""

    model: str | None
    once: Once | None = field(default=None, compare=False)
    wrapper: Wrapper = field(default=Wrapper.NONE, compare=False)
    holder: Optimizer | None = field(default=None, compare=False)
    parts: frozenset[str] = field(default=frozenset(), compare=False)


@dataclass(eq=False)
class Once:
    """Whether an iterator has been gone through."""

    used: bool = False


@dataclass(frozen=True)
class Gradient:
    """The gradient of some parameter of a model, or of an optimizer (`holder`); or a copy."""

    model: str | None
    copied: bool = False
    holder: Optimizer | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Flow:
    """A gradient that is a value, with the events that it has been through."""

    history: tuple[Event, ...]


@dataclass(frozen=True)
class Public:
    """A public name that an import binds, such as `torch.optim.AdamW`; `member`: of something that one binds."""

    name: str
    member: bool = field(default=False, compare=False)


@dataclass(eq=False)
class Function:
    """A function of the program, with the scope that it was defined in."""

    node: ir.Function | ir.Lambda
    scope: Scope
    owner: Class | None = None


@dataclass(eq=False)
class Class:
    """A class of the program. `fields`: what its constructor takes and keeps, in order, where nobody wrote one."""

    node: ir.Class
    scope: Scope
    attributes: dict[str, Value] = field(default_factory=dict)
    bases: tuple[Value, ...] = ()
    fields: tuple[str, ...] = ()


@dataclass(eq=False)
class Instance:
    """An object of a class of the program. `inherits`: the scheduler of torch's that it is, by its class. `doubted`:
    the condition under which there is one; empty if there certainly is. `items`: what one like a dict holds."""

    klass: Class
    attributes: dict[str, Value] = field(default_factory=dict)
    text: str = "self"
    pending: set[str] = field(default_factory=set)
    wrapper: Wrapper = Wrapper.NONE
    inherits: Scheduler | None = None
    doubted: str = ""
    items: dict[Value, Value] = field(default_factory=dict)


@dataclass(frozen=True)
class Method:
    """A function of the program bound to its first argument."""

    function: Function
    instance: Value


@dataclass(frozen=True)
class Bound:
    """A method of something that is not of the program: `scaler.step`."""

    owner: Value
    name: str


@dataclass(frozen=True)
class Super:
    """`super()` inside a method."""

    instance: Value
    klass: Class


@quickly_made
@dataclass(frozen=True)
class Stream:
    """Something to iterate over, of a length that is perhaps not known.

    `item(i)` is the i-th value. `length` None: as the model says. `bound`: the symbol that the length was written as.
    `batches`: a loader's batches, not a count. `window`: the parts of one batch. `gathered`: batches put aside.
    `endless`: it never comes to an end, or nobody knows that it does.
    """

    item: Callable[[int], Value]
    length: int | None = None
    bound: Symbol | None = None
    batches: bool = False
    window: bool = False
    gathered: bool = False
    endless: bool = False


NUMBER = (int, float, Fraction)


def text_of(value: Value) -> str:
    """A canonical text: equal for equal values, and readable."""
    if type(value) is Symbol:  # first what is asked most: this is asked of everything
        sign = "+" if value.offset > 0 else "-"
        return f"{value.text} {sign} {abs(value.offset)}" if value.offset else value.text
    if type(value) in _PLAIN:
        return repr(value)
    if type(value) is Condition:
        texts = [text_of(part) for part in value.parts]
        return f" {value.op} ".join(texts) if len(texts) > 1 else " ".join((value.op, *texts))
    if isinstance(value, Public):
        return value.name
    if isinstance(value, Bound):
        return f"{text_of(value.owner)}.{value.name}"
    if isinstance(value, (Optimizer, Scaler, Scheduler)):
        return value.key
    if isinstance(value, Parameters):
        return f"{value.model or 'model'}.parameters()"
    if isinstance(value, Instance):
        return value.text
    if isinstance(value, Length) and value.name.isdecimal():
        return value.name  # a literal that is played as a smaller number
    if isinstance(value, (str, *NUMBER)):
        return repr(value)
    return type(value).__name__.lower()
