"""Builtin functions on values of the model."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction

from amplint.dialects.schedules import BY_HAND
from amplint.dialects.syntax import TENSOR
from amplint.domains import precision, ranks, rates_by_hand, schedule_meanings, scheduler_units, shown_counts
from amplint.domains.schedule_meanings import OF_A_RANK
from amplint.flow import program as ir
from amplint.machine import arithmetic, attributes, looked_up, places
from amplint.machine.intrinsics import INTRINSICS
from amplint.protocol.ranks import Wrapper
from amplint.protocol.values import with_changes
from amplint.state import counting, known_numbers, truths
from amplint.state.counts import Count, Length
from amplint.state.records import Filling, as_dict
from amplint.state.run import NothingLeft, Run
from amplint.state.values import (
    NUMBER,
    Class,
    Gathered,
    Incomplete,
    Instance,
    Keywords,
    Loss,
    Optimizer,
    Origin,
    Parameters,
    Scaler,
    Stream,
    Symbol,
    Value,
    text_of,
)


def call(run: Run, name: str, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """The value of calling a builtin."""
    make = _BUILTINS.get(name)
    if make is None and name in INTRINSICS:
        return INTRINSICS[name](run, args, keywords, at)
    if make is not None and args:
        return make(run, args, keywords, at)
    if not args and not keywords and name in ("list", "int", "float"):
        return Gathered() if name == "list" else 0
    if name == "dict" and not args:
        return as_dict(keywords if isinstance(keywords, Incomplete) else dict(keywords))
    return _not_known(run, name, args)


def _not_known(run: Run, name: str, args: list[Value]) -> Symbol:
    counted = run.in_batches and any(isinstance(value, NUMBER) for value in args)  # by the loop, for all that is known
    return Symbol(f"{name}({', '.join(text_of(value) for value in args)})", Origin.OPAQUE if counted else _origin(args))


def _text(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """`str(x)`: of a text itself, of a dtype its name (`str(torch.half)` is "torch.float16", torch 2.13)."""
    if isinstance(args[0], str):
        return args[0]
    return precision.written(args[0]) or _not_known(run, "str", args)


def _origin(args: list[Value]) -> Origin:
    origins = {value.origin for value in args if isinstance(value, Symbol)}
    if any(isinstance(value, Loss) for value in args) or Origin.DATA in origins:
        return Origin.DATA
    return Origin.OPAQUE if Origin.OPAQUE in origins else Origin.RUN


def length_of(run: Run, stream: Stream) -> int:
    """How many elements a stream has on the model."""
    if stream.length is not None:
        return stream.length
    if stream.bound is not None and (window := known_numbers.window_of(run, stream.bound)) is not None:
        return window
    return run.model.batches


def _len(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    value = truths.resolve(run, args[0])
    if isinstance(value, (list, tuple, dict, str)) and not isinstance(value, Filling):
        return Count(len(value), frozenset({"batches"}))
    if isinstance(value, Stream):
        return Count(length_of(run, value), frozenset({"batches"}))
    text = text_of(value)
    if text in run.lengths:
        return Count(run.lengths[text], frozenset({"batches"}))
    if isinstance(value, Symbol) and places.has_changed(run, value):
        return places.unknown(f"len({text})")
    if text.endswith(_SHAPES):  # of how many dimensions something is, which no loop goes through
        return Symbol(f"len({text})", Origin.DATA if _is_data(value) else Origin.RUN)
    kept = value.tags & {OF_A_RANK} | schedule_meanings.unshared(value) if isinstance(value, Symbol) else frozenset()
    if isinstance(value, Symbol) and "loaded" in value.tags:
        return Count(run.model.batches, kept | {"batches", "loaded"})
    samples = "dataset" in text or text in run.loaded
    if samples or ("batch" in text and "batches" not in text) or not isinstance(value, Symbol):
        tags = run.loaded.get(text, frozenset()) | {"samples"} if samples else frozenset()
        return Symbol(f"len({text})", Origin.DATA if _is_data(value) else Origin.RUN, tags=tags)
    if _is_data(value):
        return Symbol(f"len({text})", Origin.DATA)
    return Count(run.model.batches, kept | {"batches", schedule_meanings.tag_of(text)})


_SHAPES = (".shape", ".size()")


def _is_data(value: Value) -> bool:
    return isinstance(value, Symbol) and value.origin is Origin.DATA


def _divmod(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    if len(args) != 2:
        return Symbol("divmod(...)", _origin(args))
    return tuple(_of_two(run, op, args, at) for op in ("//", "%"))


def _of_two(run: Run, op: str, args: list[Value], at: ir.Span) -> Value:
    left, right = (ir.Text(at, "" if isinstance(value, NUMBER) else text_of(value)) for value in args)
    return arithmetic.binary(run, ir.Binary(at, op, left, right), *args)


def remainder(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """`numpy.mod(a, b)`: what `a % b` is."""
    return _of_two(run, "%", args, at) if len(args) == 2 else Symbol("mod(...)", _origin(args))


def _range(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    args = [truths.resolve(run, value) for value in args]
    known = [known_numbers.number(run, value) for value in args]
    stop = known[0] if len(args) == 1 else known[1]
    first = known[0] if len(args) > 1 else 0
    step = known[2] if len(args) > 2 else 1
    start = int(first) if first is not None else 0
    stride = int(step) if step else 1
    bound = args[0] if len(args) == 1 else args[1]
    if stop is not None and first is not None:
        length = max(0, -(-(int(stop) - start) // stride))
        length = Count(length, bound.tags) if len(args) == 1 and isinstance(bound, Count) else length
        return Stream(lambda index: start + index * stride, length=length, bound=_bound(bound))
    if _IN_A_SAMPLE(text_of(bound)):
        return Stream(lambda index: Symbol(f"{text_of(bound)}[{index}]", Origin.DATA))
    if len(args) > 2 and _is_data(bound):  # slices of a batch
        return Stream(lambda index: Symbol(f"{text_of(bound)}[{index}]", Origin.DATA), window=True)
    kept = frozenset({"assumed"} if first is None else ())
    turns = with_changes(bound, offset=bound.offset - start) if isinstance(bound, Symbol) else None
    return Stream(lambda index: Count(start + index * stride, kept), bound=turns)


_IN_A_SAMPLE = re.compile(r"\.(shape\[|size\()(?!0[\])])[^\])]+[\])]$").search
"""A dimension of data that is not the first one, over which a loop goes through the parts of each sample."""


def _bound(value: Value) -> Symbol | None:
    """What a `range` of a known length ends at: a symbol, a window's length by its name, or a multiple of one."""
    if isinstance(value, Length):
        return Symbol(value.name, tags=value.tags)
    if isinstance(value, Count) and value.tags == {"multiplied"}:
        return Symbol("", tags=frozenset({"window"}))
    return value if isinstance(value, Symbol) else None


def _enumerate(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    inner = run.stream_of(args[0])
    given = args[1] if len(args) > 1 else keywords.get("start", 0)
    begin = known_numbers.number(run, given)
    start = int(begin) if begin is not None else getattr(given, "offset", 0) + run.tick  # what has passed before
    index_of = frozenset({"index"} if begin is not None else {"index", "assumed"})

    def item(index: int) -> Value:
        return Count(start + index, index_of), inner.item(index)

    return Stream(item, inner.length, inner.bound, inner.batches, inner.window, endless=inner.endless)


def _zip(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    inner = [run.stream_of(value) for value in args]
    lengths = [stream.length for stream in inner if stream.length is not None]
    length = min(lengths) if lengths else None
    window = any(stream.window for stream in inner)
    endless = all(stream.endless for stream in inner)
    return Stream(
        lambda index: tuple(stream.item(index) for stream in inner),
        length,
        batches=True,
        window=window,
        endless=endless,
    )


def _first(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    return args[0]


def _listed(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    value = args[0]
    if isinstance(value, Parameters):
        run.stream_of(value)
        return Parameters(value.model, holder=value.holder, parts=value.parts)
    if isinstance(value, (list, tuple)):
        return list(value)
    if isinstance(value, (Stream, dict)):
        stream = run.stream_of(value)
        return [stream.item(index) for index in range(stream.length)] if stream.length is not None else stream
    return value


def _set(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """A set of parameters holds the same as a list of them; of another one it is not known what is equal in it."""
    return _listed(run, args, keywords, at) if isinstance(args[0], Parameters) else _not_known(run, "set", args)


def _number(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """`int(x)`, `float(x)`, `round(x)`: the number; of a loss, a number that has no graph."""
    value = args[0]
    if isinstance(value, Loss):
        return Symbol("loss.item()", Origin.DATA, tags=frozenset({"number"}))
    if isinstance(value, (Symbol, *NUMBER)):
        return value
    written = _written(value) if isinstance(value, str) else None
    return Symbol(f"float({text_of(value)})", Origin.DATA) if written is None else written


def _written(text: str) -> Fraction | None:
    """The number that a text writes: `"4"`, `"1e-4"`; None for another text, `"inf"` among them."""
    try:
        return Fraction(text)
    except (ValueError, ZeroDivisionError):
        return None


def _int(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    value = _number(run, args, keywords, at)
    if isinstance(value, Fraction):
        tags = counting.tags_of(value)
        return Count(int(value), tags) if tags else int(value)
    return value


def _round(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    value = _number(run, args, keywords, at)
    exact = isinstance(value, Fraction) or (isinstance(value, float) and math.isfinite(value))
    return round(value) if isinstance(value, (float, Fraction)) and exact and len(args) == 1 else value


def _extreme(choose: Callable[[list[int | Fraction]], int | Fraction]) -> Callable[..., Value]:
    def extreme(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
        values = list(args[0]) if len(args) == 1 and isinstance(args[0], (list, tuple)) else args
        total = next((value for value in values if isinstance(value, Loss) and value.summed), None)
        if total is not None:
            return total  # `max(mask.sum(), 1)`
        window = next((value for value in values if known_numbers.window_of(run, value) is not None), None)
        numbers = [found for value in values if (found := known_numbers.number(run, value)) is not None]
        if numbers and len(numbers) == len(values):
            chosen = choose(numbers)
            return window if window is not None and known_numbers.number(run, window) == chosen else chosen
        if window is not None:
            return window
        made = Symbol(f"{choose.__name__}({', '.join(text_of(value) for value in values)})", _origin(values))
        return shown_counts.at_least_one(run, made, values) if choose is max else made

    return extreme


def _sum(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """A sum of losses: one that holds several terms, or one for which nothing is known of their weights."""
    value = args[0]
    items = list(value) if isinstance(value, (list, tuple)) else []
    losses = [item for item in items if isinstance(item, Loss)]
    if losses and len(losses) == len(items) and len({(loss.weight, loss.factors, loss.summed) for loss in losses}) == 1:
        return losses[0] if len(losses) == 1 else Loss(None, trail=losses[0].trail)
    if (isinstance(value, Stream) and isinstance(value.item(0), Loss)) or losses:
        return Loss(None)
    return Symbol(f"sum({text_of(value)})", _origin(args))


_CONTAINERS = {"dict": dict, "list": list, "tuple": tuple, "str": str}


def _isinstance(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """Whether a container, or an object whose making was seen, is one of some containers, where that is known, a
    wrapped model one of its wrapper's class, and a schedule one of its own."""
    value, asked = args[0], args[-1] if isinstance(args[-1], tuple) else (args[-1],)
    for known in (ranks.is_wrapped_by(value, asked), scheduler_units.is_one_of(value, asked)):
        if known is not None:
            return known
    if isinstance(value, Loss) and TENSOR in map(text_of, asked):
        return True
    names = [kind.node.name if isinstance(kind, Class) else str(getattr(kind, "name", text_of(kind))) for kind in asked]
    kinds = tuple(_CONTAINERS[name] for name in names if name in _CONTAINERS)
    sequence = isinstance(value, (list, tuple)) and {list, tuple} & {*kinds}  # one may stand for the other
    if len(kinds) == len(names) and _is_seen(value) and (not sequence or isinstance(value, kinds)):
        return isinstance(value, kinds)
    return Symbol(f"isinstance({text_of(value)}, {', '.join(names)})", _origin(args))


def _is_seen(value: Value) -> bool:
    """Whether it is known of what type a value is."""
    if isinstance(value, Optimizer):
        return value.algorithm is not None
    return isinstance(value, (dict, list, tuple, str)) or (isinstance(value, Scaler) and value.known)


def _hasattr(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """Whether there is an attribute: a wrapper has its `module`, of all else nothing is known."""
    if args[1:] == ["module"] and getattr(args[0], "wrapper", None) is Wrapper.DDP:
        return True
    return Symbol(f"hasattr({', '.join(text_of(value) for value in args)})", _origin(args))


def _setattr(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    if len(args) == 3 and isinstance(args[1], str):
        attributes.write(run, args[0], args[1], args[2])
    elif len(args) == 3 and isinstance(args[0], Instance):
        attributes.may_all_be_set(run, args[0])
    return None


def _vars(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    known = isinstance(args[0], (Symbol, Instance))
    return attributes.read(run, args[0], "__dict__") if known else Symbol("vars(...)")


def _rate_by_hand(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """A rate is set by a position and a total."""
    rates_by_hand.told(run, args[0], args[1], text_of(args[2]), at)
    return None


def _filter(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    return args[1] if len(args) > 1 else args[0]


def _iter(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    stream = run.stream_of(args[0])
    if stream.length is None:
        return args[0]
    made = replace(stream)
    run.handed_out[id(made)] = made, 0
    return made


def _next(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    value = args[0]
    if not isinstance(value, Stream):
        return run.stream_of(value).item(run.tick)
    run.handed_out.setdefault(id(value), (value, 0))
    stream, taken = run.handed_out[id(value)]
    run.handed_out[id(value)] = stream, taken + 1
    if stream.length is None or taken < stream.length or not (args[1:] or run.takes == len(run.stack)):
        return stream.item(taken)
    if args[1:]:
        return args[1]
    raise NothingLeft


_BUILTINS: dict[str, Callable[..., Value]] = {
    "len": _len,
    "range": _range,
    "enumerate": _enumerate,
    "zip": _zip,
    "list": _listed,
    "tuple": _listed,
    "sorted": _listed,
    "set": _set,
    "frozenset": _set,
    "reversed": _listed,
    "iter": _iter,
    "next": _next,
    "int": _int,
    "float": _number,
    "round": _round,
    "abs": _number,
    "divmod": _divmod,
    "max": _extreme(max),
    "min": _extreme(min),
    "sum": _sum,
    "getattr": looked_up.look_up,
    "hasattr": _hasattr,
    "isinstance": _isinstance,
    "setattr": _setattr,
    "vars": _vars,
    "filter": _filter,
    "bool": _first,
    BY_HAND: _rate_by_hand,
    "str": _text,
}
