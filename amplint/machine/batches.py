"""What hands out batches: loaders, and the functions that hand out again what others do."""

from __future__ import annotations

from amplint.domains import provenance, units
from amplint.domains.schedule_meanings import OF_A_RANK
from amplint.flow import program as ir
from amplint.machine import builtins, endless
from amplint.protocol.cadence import OF_ALL_RANKS
from amplint.state import known_numbers
from amplint.state.counts import Count, Length
from amplint.state.run import Run
from amplint.state.values import Keywords, Stream, Symbol, Value, text_of

_LOADED = frozenset({"loaded"})
"""Of what a `DataLoader` makes: its length is known to count batches."""

_DRAWN_FROM = ("dataset", "sampler", "batch_sampler")
"""What ends an epoch of a loader by its own end: torch 2.13, `DataLoader.__init__`, by position the first, fourth and
fifth."""

_DROPS = 8
"""The position of `drop_last` among the arguments of a loader."""

_OF_ELEMENTS = frozenset({"batches", "divided", "multiplied", "window"})


def loader(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """A loader; how many samples it puts into a batch, and of what, is kept."""
    size = args[1] if len(args) > 1 else keywords.get("batch_size")
    several = isinstance(size, (Symbol, int)) and size not in (None, 0, 1)
    if several:
        run.batch_sizes.add(text_of(size))
    given = [*args, *keywords.values()]
    source = args[0] if args else keywords.get("dataset")
    drawn = (*args[:1], *args[3:5], *(keywords[name] for name in _DRAWN_FROM if name in keywords))
    shared = any(isinstance(value, Symbol) and OF_A_RANK in value.tags for value in drawn)
    if source is not None:
        data = text_of(source)
        known = {units.BATCHED} if several else set()
        if shared:
            known |= {OF_ALL_RANKS}
        elif len(drawn) == 1 and _has_rest(args, keywords):
            known |= {units.WITH_A_REST}
        run.loaded[data] = run.loaded.get(data, frozenset(known)) & known
    text = f"loader({', '.join(text_of(value) for value in given)[:60]})"
    unending = any(endless.has_no_end(run, value) for value in drawn)
    tags = _LOADED | ({"streamed"} if any(endless.is_streamed(run, value) for value in drawn) else set())
    tags |= {OF_A_RANK} if shared else set()
    return Symbol(text, tags=tags, reach=provenance.of(given), endless=unending, given=source)


def share_of_a_rank(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """What hands each rank its share of a data set: `torch/utils/data/distributed.py` of torch 2.13."""
    data = args[0] if args else keywords.get("dataset")
    return Symbol(f"share({text_of(data)})", tags=frozenset({OF_A_RANK}))


def _has_rest(args: list[Value], keywords: Keywords) -> bool:
    """Whether a loader hands out what does not fill a batch."""
    return len(args) <= _DROPS and keywords.get("drop_last", False) is False


def counted_out(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """`trange(n)`: a range with a progress bar."""
    return builtins.call(run, "range", args, {}, at)


def cycled(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """`cycle(range(N))`: its elements again and again, as many as the model has batches."""
    inner = run.stream_of(args[0] if args else None)
    length = inner.length if inner.length is not None else builtins.length_of(run, inner)
    return Stream(lambda index: inner.item(index % max(length, 1)), batches=True, endless=True)


def first_elements(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """`islice(loader, n)`: as many elements as it says, where that counts batches or is the length of a window."""
    inner = run.stream_of(args[0] if args else None)
    stop = args[min(len(args), 3) - 1] if len(args) > 1 else None
    length = int(stop) if isinstance(stop, Length | Count) and stop.tags & _OF_ELEMENTS else None
    bound = Symbol(stop.name) if isinstance(stop, Length) else stop if isinstance(stop, Symbol) else None
    window = bound is not None and known_numbers.window_of(run, bound) is not None
    once = inner.endless and not run.loops  # a run that is cut to its length is no epoch
    return Stream(inner.item, length, bound if window else None, batches=not window, endless=once)


def chained(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """`chain.from_iterable(loaders)`: what one of them hands out, as often as there are any."""
    outer = run.stream_of(args[0] if args else None)
    inner = run.stream_of(outer.item(0))
    return Stream(inner.item, batches=inner.batches, endless=outer.endless or inner.endless)


def counted_up(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """`count(n)`: whole numbers without an end."""
    first = args[0] if args and isinstance(args[0], int) else 0
    return Stream(lambda index: index + first, endless=True)


def repeated(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """`repeat(x)`: the same again and again, for ever unless it is said how often."""
    return Stream(lambda index: args[0], endless=len(args) == 1)
