"""Values as something to iterate over: what is known of their elements, and of how many there are."""

from __future__ import annotations

from amplint.domains import provenance, schedule_meanings
from amplint.machine import endless, public_calls
from amplint.state import mappings, truths
from amplint.state.records import Filling
from amplint.state.run import Run
from amplint.state.values import Gathered, Instance, Origin, Parameters, Stream, Symbol, Value, text_of


def at(items: list[Value], index: int) -> Value:
    """An element of a known sequence; one that it does not have is not known."""
    return items[index] if index < len(items) else Symbol("element", Origin.DATA)


def is_batch(value: Value) -> bool:
    """Whether a value is one that a loader may have given: unknown data, or several of them."""
    if isinstance(value, (list, tuple)):
        return any(is_batch(item) for item in value)
    return isinstance(value, Symbol) and value.origin is Origin.DATA


def stream_of(run: Run, value: Value) -> Stream:
    """A value as something to iterate over."""
    value = truths.resolve(run, value)
    if isinstance(value, Stream):
        return value
    if isinstance(value, Filling):
        value = Symbol("dict", Origin.OPAQUE)  # it may hold any other keys
    if isinstance(value, dict) or (isinstance(value, Instance) and mappings.items(value) is not None):
        value = list(value if isinstance(value, dict) else mappings.items(value) or ())
    if isinstance(value, (list, tuple, str)):
        items = list(value)
        kept = isinstance(value, Gathered) and all(is_batch(item) for item in items)
        return Stream(lambda index: at(items, index), length=len(items), batches=True, gathered=kept)
    if isinstance(value, Parameters):
        public_calls.consume(value)
        return Stream(lambda index: Parameters(value.model, holder=value.holder, parts=value.parts), length=1)
    text = text_of(value)
    governed = isinstance(value, Symbol) and value.governed
    through = provenance.of([value])
    if isinstance(value, Symbol):
        schedule_meanings.gone_through(run, value)
        run.streamed |= {text} if "streamed" in value.tags else set()
    return Stream(
        lambda index: Symbol(f"{text}[*]", Origin.DATA, governed=governed, reach=through),
        batches=True,
        endless=endless.has_no_end(run, value),
    )
