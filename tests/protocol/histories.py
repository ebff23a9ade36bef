"""Events, and histories of events, that Hypothesis grows for the machine."""

from __future__ import annotations

from fractions import Fraction

from hypothesis import strategies as st

from amplint.protocol.events import Event, Gate, Kind, Site
from amplint.protocol.ledger import Grads, Ledger, Stage, advance
from amplint.protocol.precision import Precision
from amplint.protocol.window import Passed, Window

SITES = [Site("train.py", row) for row in range(1, 4)]
_factors = st.frozensets(st.sampled_from(["scale", "weight"]))
_weights = st.none() | st.sampled_from([Fraction(1), Fraction(1, 4), 0.5])
_details = st.sampled_from([{}, {"discards": "yes"}, {"algorithm": "SGD"}, {"unit": "updates"}])
_gates = st.none() | st.builds(Gate, st.sampled_from(SITES), st.none() | st.just("N"), st.none() | st.booleans())


def events(**fixed: st.SearchStrategy[object]) -> st.SearchStrategy[Event]:
    """Any event; what is given is drawn from there."""
    parts: dict[str, st.SearchStrategy[object]] = {
        "kind": st.sampled_from(Kind),
        "site": st.sampled_from(SITES),
        "weight": _weights,
        "scaled": st.none() | st.booleans(),
        "factors": _factors,
        "gate": _gates,
        "stack": st.sampled_from([(), (SITES[0],)]),
        "detail": _details,
        "forward": st.sampled_from(Precision),
    }
    return st.builds(Event, **{**parts, **fixed})


def of(kind: Kind, row: int = 1, **parts: object) -> Event:
    """One plain event."""
    return Event(kind, Site("train.py", row), **parts)  # type: ignore[arg-type]


def after(*history: Event, start: Ledger | None = None) -> Ledger:
    """The ledger after a history."""
    ledger = start or Ledger()
    for event in history:
        ledger = advance(ledger, event)
    return ledger


histories = st.lists(events(), max_size=25)
_counts = st.integers(0, 9)
_branches = st.frozensets(st.tuples(st.sampled_from([(SITES[0],), (SITES[1],)]), st.integers(0, 1)), max_size=2)
windows = st.builds(
    Window,
    micro_steps=_counts,
    here=st.frozensets(st.tuples(st.sampled_from(SITES)), max_size=2),
    losses=st.lists(st.builds(Passed, st.tuples(st.sampled_from(SITES)), _branches, _weights, _counts), max_size=2).map(
        tuple
    ),
    lost=_counts,
    tail=_counts,
    dropped=_counts,
    leaked=st.booleans(),
    lengths=st.lists(st.lists(_counts, max_size=3).map(tuple), min_size=1, max_size=3).map(tuple),
    zeros=_counts,
    steps=_counts,
    unzeroed=_counts,
    restacked=_counts,
    stacking=_counts,
    late=st.booleans(),
    gate=_gates,
)
ledgers = st.builds(
    Ledger,
    grads=st.sampled_from(Grads),
    stage=st.sampled_from(Stage),
    clipped=st.booleans(),
    used=st.booleans(),
    crossed=st.booleans(),
    led_by_clip=st.booleans(),
    missed=st.booleans(),
    fresh=st.booleans(),
    factors=_factors,
    algorithm=st.none() | st.just("Adam"),
    window=windows,
)
"""Any state at all, reached or not."""
