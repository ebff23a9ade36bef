"""A training program without all that does not matter to the training step: `lower` writes it, `machine` runs it.
It keeps Python's statements and expressions, but not the syntax tree. `at` is (row, column, end row, end column)."""

from __future__ import annotations

from collections import abc
from dataclasses import dataclass, field
from typing import TypeAlias, get_args

Span = tuple[int, int, int, int]
NOWHERE: Span = (0, 0, 0, 0)


@dataclass(frozen=True, slots=True)
class Node:
    """Anything that stands somewhere."""

    at: Span


Literal: TypeAlias = str | bytes | bool | int | float | None
"""What a literal stands for."""


@dataclass(frozen=True, slots=True)
class Const(Node):
    """A literal."""

    value: Literal


@dataclass(frozen=True, slots=True)
class Name(Node):
    """A bare name."""

    name: str


@dataclass(frozen=True, slots=True)
class Attr(Node):
    """`owner.name`."""

    owner: Expr
    name: str


@dataclass(frozen=True, slots=True)
class Item(Node):
    """`owner[index]`."""

    owner: Expr
    index: Expr


@dataclass(frozen=True, slots=True)
class Call(Node):
    """`func(*args, **keywords)`; `starred`: what is unpacked and so not known, the last `named` of it by name."""

    func: Expr
    args: tuple[Expr, ...]
    keywords: tuple[tuple[str, Expr], ...]
    starred: tuple[Expr, ...] = ()
    named: int = 0


@dataclass(frozen=True, slots=True)
class Binary(Node):
    """`left op right` for an arithmetic operator. `gates`: a remainder that may decide when the optimizer steps."""

    op: str
    left: Expr
    right: Expr
    gates: bool = True


@dataclass(frozen=True, slots=True)
class Compare(Node):
    """`left op right` for one comparison."""

    op: str
    left: Expr
    right: Expr
    gates: bool = False


@dataclass(frozen=True, slots=True)
class Logic(Node):
    """`and`, `or`, `not` over parts."""

    op: str
    parts: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Choice(Node):
    """`yes if test else no`."""

    test: Expr
    yes: Expr
    no: Expr


@dataclass(frozen=True, slots=True)
class Display(Node):
    """A tuple, list or set."""

    kind: str
    items: tuple[Expr, ...]


@dataclass(frozen=True, slots=True)
class Mapping(Node):
    """A dict display; a key of None is `**value`."""

    items: tuple[tuple[Expr | None, Expr], ...]


@dataclass(frozen=True, slots=True)
class Comprehension(Node):
    """`[element for target in source]`, of any kind of bracket; `tests`: what its `if`s ask of each; `key`: of a dict,
    under which `element` stands."""

    element: Expr
    target: Expr
    source: Expr
    tests: tuple[Expr, ...] = ()
    key: Expr | None = None


@dataclass(frozen=True, slots=True)
class Lambda(Node):
    """`lambda params: body`."""

    params: tuple[Param, ...]
    body: Expr


@dataclass(frozen=True, slots=True)
class Walrus(Node):
    """`name := value`."""

    name: str
    value: Expr


@dataclass(frozen=True, slots=True)
class Yield(Node):
    """`yield value`; `each` for `yield from`."""

    value: Expr
    each: bool = False


@dataclass(frozen=True, slots=True)
class Text(Node):
    """An expression that only its text is known of."""

    text: str


Place = Name | Attr | Item
Operation = Call | Binary | Compare | Logic | Choice | Lambda | Walrus | Yield
Expr = Const | Place | Operation | Display | Mapping | Comprehension | Text


@dataclass(frozen=True, slots=True)
class Param:
    """A parameter of a function; `star` is "", "*" or "**"."""

    name: str
    default: Expr | None = None
    annotation: Expr | None = None
    star: str = ""


@dataclass(frozen=True, slots=True)
class Assign(Node):
    """`target = value`, one per target."""

    target: Expr
    value: Expr


@dataclass(frozen=True, slots=True)
class Augment(Node):
    """`target op= value`."""

    op: str
    target: Expr
    value: Expr


@dataclass(frozen=True, slots=True)
class Do(Node):
    """An expression for its effect."""

    value: Expr


@dataclass(frozen=True, slots=True)
class If(Node):
    """`if test`. `gates`: exactly one branch steps an optimizer. `leaves`: the body does nothing but leave."""

    test: Expr
    body: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...]
    gates: bool = False
    leaves: bool = False


@dataclass(frozen=True, slots=True)
class Shape:
    """What a loop's body does, through calls too. `anew`: names that it sets without regard to what they held."""

    backward: bool = False
    steps: bool = False
    nested: bool = False
    yields: bool = False
    anew: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class For(Node):
    """`for target in source`."""

    target: Expr
    source: Expr
    body: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...]
    shape: Shape = field(default=Shape())


@dataclass(frozen=True, slots=True)
class While(Node):
    """`while test`."""

    test: Expr
    body: tuple[Stmt, ...]
    orelse: tuple[Stmt, ...]
    shape: Shape = field(default=Shape())


@dataclass(frozen=True, slots=True)
class With(Node):
    """`with context as target`, one per item."""

    context: Expr
    target: Expr | None
    body: tuple[Stmt, ...]


@dataclass(frozen=True, slots=True)
class Try(Node):
    """`try`. `catches`: the last names of the exceptions that some handler catches, "" for all."""

    body: tuple[Stmt, ...]
    handlers: tuple[tuple[Stmt, ...], ...]
    orelse: tuple[Stmt, ...]
    final: tuple[Stmt, ...]
    catches: frozenset[str] = frozenset()


@dataclass(frozen=True, slots=True)
class Return(Node):
    """`return value`."""

    value: Expr | None


@dataclass(frozen=True, slots=True)
class Leave(Node):
    """`break`, `continue` or `raise`."""

    how: str


@dataclass(frozen=True, slots=True)
class Assert(Node):
    """`assert test`."""

    test: Expr


@dataclass(frozen=True, slots=True)
class Import(Node):
    """A name bound to a public qualified name."""

    name: str
    qualified: str


@dataclass(frozen=True, slots=True)
class Global(Node):
    """`global` or `nonlocal` names."""

    names: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Function(Node):
    """A function definition. `relevant`: running it can matter to the training step.

    `backward`, `steps`, `zeroes`: through calls too; `loops`: backward in a loop; `casts`: regions of a `forward`;
    `gives`: a loss, or acts. `silent`: it returns None. `left_open`: those who derive from its class fill it in.
    `endless`: its values never end. `bound`: its own names. `updates`: the step of an optimizer, and no more.
    `left_aside`: no word of training is in it, nor anything else here."""

    name: str
    params: tuple[Param, ...]
    body: tuple[Stmt, ...]
    decorators: tuple[Expr, ...] = ()
    generator: bool = False
    relevant: bool = True
    backward: bool = False
    steps: bool = False
    zeroes: bool = False
    casts: tuple[Expr, ...] = ()
    loops: bool = False
    gives: bool = False
    silent: bool = False
    left_open: bool = False
    endless: bool = False
    bound: frozenset[str] = frozenset()
    updates: bool = False
    left_aside: bool = False


@dataclass(frozen=True, slots=True)
class Class(Node):
    """A class definition. `fields`: the names that it annotates, in order; `keeps`: under which names its methods put
    something into an object."""

    name: str
    bases: tuple[Expr, ...]
    body: tuple[Stmt, ...]
    decorators: tuple[Expr, ...] = ()
    fields: tuple[str, ...] = ()
    keeps: frozenset[str] = frozenset()


Stmt = (
    Assign | Augment | Do | If | For | While | With | Try | Return | Leave | Assert | Import | Global | Function | Class
)
STATEMENTS: tuple[type, ...] = get_args(Stmt)


@dataclass(frozen=True, slots=True)
class Library:
    """What a framework does to the training step, as a small program of its own.

    `defines`: the public names that it gives a meaning, and what they are called in its body. `adopts`: names that code
    gives to an object of a class of it. `spelling`: of its own calls. `settings`: those that the project makes. A
    `framework` takes a part of the step over; else it is as if written by the user, who `schedules` unless it does."""

    name: str
    body: tuple[Stmt, ...]
    defines: dict[str, str]
    adopts: dict[str, str]
    spelling: dict[str, str]
    settings: frozenset[str] = frozenset()
    framework: bool = True
    schedules: bool = True


@dataclass(frozen=True, slots=True)
class Program:
    """One module: its statements, and for every name the methods that are called on it anywhere.

    `called`: functions that another one calls, methods with a dot. `libraries`: frameworks; `stubs`: other programs
    of libraries; `packages`: all imported. `losses`: what is back-propagated or scaled. `varying`: names that a loop
    over batches sets anew. `casts`: autocast outside the step. `takers`: what may use gradients; `movers`: step
    schedules. `ranks`: of others. `links`: file and name behind a public name. `quiet` functions do nothing. `freezes`:
    parameters; `restores`: gradients. `norms_used`: beyond a look. `wider`: classes of dtypes of their own; None:
    copies? `ignored`: masked. `parts`: models that share some. `forwards`: by place. `reached`: others get at it."""

    path: str
    body: tuple[Stmt, ...]
    usage: dict[str, frozenset[str]]
    called: frozenset[str] = frozenset()
    libraries: tuple[Library, ...] = ()
    stubs: tuple[Library, ...] = ()
    takers: frozenset[Span] = frozenset({NOWHERE})
    movers: frozenset[Span] = frozenset()
    varying: frozenset[str] = frozenset()
    losses: frozenset[str] = frozenset()
    casts: bool = False
    neighbours: abc.Mapping[str, tuple[Stmt, ...]] = field(default_factory=dict)
    links: abc.Mapping[tuple[str, str], tuple[str, str]] = field(default_factory=dict)
    quiet: frozenset[tuple[str, str]] = frozenset()
    ranks: frozenset[str] = frozenset()
    freezes: bool = False
    restores: bool = False
    norms_used: bool = False
    wider: frozenset[str] | None = frozenset()
    ignored: abc.Callable[[], frozenset[str]] = frozenset
    reached: abc.Callable[[str], bool] = bool
    parts: frozenset[frozenset[str]] = frozenset()
    packages: frozenset[str] = frozenset()
    forwards: frozenset[tuple[str, Span]] = frozenset()
    counted: frozenset[str] = frozenset()
