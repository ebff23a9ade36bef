"""What is known of public names, of all libraries together."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain

from amplint.dialects import DIALECTS
from amplint.dialects import vocabulary as words
from amplint.dialects.constructors import role_of
from amplint.dialects.dialect import Role, ScalerClass
from amplint.dialects.vocabulary import within
from amplint.protocol.events import Kind
from amplint.protocol.precision import Precision

EVENTS: Mapping[str, Kind] = {name: kind for dialect in DIALECTS for name, kind in dialect.calls.items()}
"""Functions, and the event that a call of one is."""

PRIMITIVES: Mapping[str, str] = {name: said for dialect in DIALECTS for name, said in dialect.primitives.items()}
"""Functions and classes, and what the machine does for a call of one."""

TRANSPARENT = frozenset(chain.from_iterable(dialect.transparent for dialect in DIALECTS))
PLAIN = tuple(chain.from_iterable(dialect.plain for dialect in DIALECTS))
QUIET = frozenset(chain.from_iterable(dialect.quiet for dialect in DIALECTS))
NORMS = frozenset(chain.from_iterable(dialect.norms for dialect in DIALECTS))
NEUTRAL = frozenset(chain.from_iterable(dialect.neutral for dialect in DIALECTS))
TENSORS = frozenset(chain.from_iterable(dialect.tensors for dialect in DIALECTS))
COLLECTIVES = frozenset(chain.from_iterable(dialect.collectives for dialect in DIALECTS))
DTYPES: Mapping[str, Precision] = {name: said for dialect in DIALECTS for name, said in dialect.dtypes.items()}
SPELLED: Mapping[str, str] = {name: said for dialect in DIALECTS for name, said in dialect.spelled.items()}
SCALERS: Mapping[str, ScalerClass] = {name: said for dialect in DIALECTS for name, said in dialect.scalers.items()}
"""See what `Dialect` says of each."""

CLIPS = frozenset(name.rpartition(".")[2] for name, kind in EVENTS.items() if kind is Kind.CLIP)
"""What functions are called that clip."""

COLLECTING = frozenset(name.rpartition(".")[2] for name in COLLECTIVES)
"""What functions are called that put what all ranks hold together."""

_COMPUTES = tuple(chain.from_iterable(dialect.computes for dialect in DIALECTS))
_ASKS = tuple(chain.from_iterable(dialect.asks for dialect in DIALECTS))
_IN_PLACE = tuple(chain.from_iterable(dialect.in_place for dialect in DIALECTS))
_WITHOUT_GRAPH = tuple(chain.from_iterable(dialect.without_graph for dialect in DIALECTS))
_WITH_GRAPH = tuple(f"{name}(" for dialect in DIALECTS for name in dialect.with_graph)
_PRODUCTS = tuple(chain.from_iterable(dialect.products for dialect in DIALECTS))
_HAS = {name: said for dialect in DIALECTS for name, said in dialect.has.items()}
_METHODS = {
    role: {name: kind for dialect in DIALECTS for name, kind in dialect.methods.get(role, {}).items()} for role in Role
}

_KNOWN = frozenset(
    chain.from_iterable(
        (*dialect.makes, *dialect.calls, *dialect.primitives, *dialect.transparent, *dialect.dtypes)
        for dialect in DIALECTS
    )
)
_OPTIMIZER = within(words.OPTIMIZER_CLASS)

SEEN = frozenset(name.partition(".")[0] for name in _COMPUTES)
"""Packages of which everything is known as far as it matters."""


def is_known(name: str) -> bool:
    """Whether a public name is one of a library, as far as something is known of it."""
    last = name.rpartition(".")[2]
    return name in _KNOWN or makes_a_module(name) or (role_of(name) is Role.OPTIMIZER and _OPTIMIZER(last))


def computes(name: str) -> bool:
    """Whether a public name is one of a library of tensors."""
    return name.startswith(_COMPUTES)


def asks_the_machine(name: str) -> bool:
    """Whether a function of such a library returns nothing that is computed from tensors."""
    return name.startswith(_ASKS)


def makes_a_module(name: str) -> bool:
    """Whether a function of such a library is the class of a module: no tensor, and never None."""
    short = name.rpartition(".")[2]
    return name.startswith(PLAIN) and short[:1].isupper() and not short.endswith(("Parameter", "Buffer"))


def in_place(name: str) -> str:
    """The method that does what a function does in place to the tensors that it is handed first; empty if none does."""
    found = next((one for one in _IN_PLACE if name.startswith(one)), None)
    return name.removeprefix(found).rpartition(".")[2] if found is not None and name.endswith("_") else ""


def without_graph(text: str) -> bool:
    """Whether a context lets nothing be remembered for a backward."""
    return text.startswith(_WITHOUT_GRAPH)


def with_graph(text: str) -> bool:
    """Whether it is a context that lets everything be remembered, made by a call."""
    return text.startswith(_WITH_GRAPH)


def may_cast(model: str) -> bool:
    """Whether a model is a library's own, whose last layer is not known to be a matrix product."""
    return computes(model) and not model.startswith(_PRODUCTS)


def attributes_of(name: str) -> frozenset[str]:
    """All that the objects of a public class have; empty where that is not known."""
    return _HAS.get(name.rpartition(".")[0], frozenset())


def event_of(role: Role, method: str) -> Kind | None:
    """The event that a call of a method is, on an object of a role; None for another method."""
    return _METHODS[role].get(method)


def methods_of(role: Role) -> frozenset[str]:
    """The methods that are events, on objects of a role."""
    return frozenset(_METHODS[role])
