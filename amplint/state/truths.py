"""Whether something is true in a run: what is not known is decided once, and stays so."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction

from amplint.flow.spelling import OFF, ON
from amplint.state import known_numbers
from amplint.state.decisions import Decision
from amplint.state.operations import COMPARISONS
from amplint.state.run import Run
from amplint.state.values import (
    NUMBER,
    Condition,
    Gated,
    Instance,
    Loss,
    Origin,
    Public,
    Symbol,
    Value,
    last_part,
    text_of,
)

_LAST_BATCH = frozenset(
    [f"{asks}last_{one}" for asks in ("", "is_") for one in "batch iter iteration micro_batch microbatch".split()]
    + [f"end_of_{one}" for one in ("dataloader", "epoch", "loader")]
)


def truth(run: Run, value: Value) -> bool:
    """The truth of a value in this run; what is not known is decided once and for all."""
    if isinstance(value, Gated):
        return value.value
    if isinstance(value, Symbol):
        if known_numbers.window_of(run, value) is not None:
            return True
        if "loaded" in value.tags:
            return True  # a loader that the program has made is there, and has batches
        if run.in_batches and value.name.lower() in _LAST_BATCH:
            return run.last_batch
        return run.decide(text_of(value), value.origin, default=value.origin is not Origin.DATA)
    if isinstance(value, Condition):
        return _decided(run, value)
    if isinstance(value, (str, list, tuple, dict, type(None), *NUMBER)):
        return bool(value)
    if isinstance(value, Public):
        return run.decide(value.name.lstrip("."), Origin.RUN)
    if isinstance(value, Instance) and value.doubted:
        return run.decide(value.doubted, Origin.OPAQUE)
    return True


def as_setting(run: Run, value: Value) -> Value:
    """What the program switches something on by for a whole run, wherever it was read: both answers are those of some
    run. What a library asks is its own affair."""
    if run.in_library:
        return value
    if isinstance(value, Condition):
        return replace(value, parts=tuple(as_setting(run, part) for part in value.parts))
    return replace(value, origin=Origin.RUN) if isinstance(value, Symbol) and value.origin is Origin.OPAQUE else value


def _decided(run: Run, value: Condition) -> bool:
    if value.op == "not":
        return not truth(run, value.parts[0])
    if value.op == "and":
        return all(truth(run, part) for part in value.parts)
    if value.op == "or":
        return any(truth(run, part) for part in value.parts)
    left, right = value.parts
    if isinstance(left, _SETTLED) and isinstance(right, _SETTLED) and value.op in _EQUALITIES:
        return (left == right) is (value.op in ("==", "is"))
    if not isinstance(left, Symbol) and isinstance(right, Symbol):
        left, right = right, left
    if isinstance(left, Symbol) and isinstance(right, (str, type(None), Public, *NUMBER)):
        return _of_symbol(run, value, left, right)
    return _decide_text(run, value)


_SETTLED = (str, Public)
_EQUALITIES = frozenset({"==", "!=", "is", "is not"})
_OPPOSITE = {"!=": "==", "is not": "is", "not in": "in", "<": ">=", "<=": ">"}


def _decide_text(run: Run, value: Condition) -> bool:
    """A comparison decided by its text; the opposite comparison is decided with it."""
    texts = value.texts or tuple(text_of(part) for part in value.parts)
    origin = origin_of(value.parts)
    opposite = _OPPOSITE.get(value.op)
    key = f" {opposite or value.op} ".join(texts)
    itself = len(texts) == 2 and texts[0] == texts[1]  # `x != x` asks for NaN
    default = origin is not Origin.DATA or itself
    counts = (isinstance(part, NUMBER) and text != text_of(part) for part, text in zip(value.parts, texts, strict=True))
    grows = value.op in COMPARISONS and any(last_part(text) in run.program.counted for text in texts)
    if (run.in_batches or run.loops) and (any(counts) or grows):
        origin = Origin.DATA  # a counter against a bound: the answer is another one later
    return run.decide(key, origin, default=default) is (opposite is None)


def _of_symbol(run: Run, value: Condition, left: Symbol, right: Value) -> bool:
    """A symbol against something known: on or off, equal to a constant, the last batch, or a threshold."""
    flipped = value.parts[0] is not left
    op = {"<": ">", ">": "<", "<=": ">=", ">=": "<="}.get(value.op, value.op) if flipped else value.op
    if right is None and left.present:
        return op in ("!=", "is not")
    plain = isinstance(right, (bool, str, type(None), Public))
    constant = right if plain else known_numbers.number(run, right)
    literal = not value.texts or text_of(right) in value.texts  # a counter that is 0 now will not be so for long
    if literal and not left.offset and isinstance(constant, (int, Fraction, str, type(None))):
        if f"{op} {constant!r}" in ON:
            return truth(run, left)
        if f"{op} {constant!r}" in OFF:
            return not truth(run, left)
    of_run = literal and type(constant) is int and left.origin is Origin.RUN
    counts = not of_run and left.origin is not Origin.DATA
    if op in ("==", "!=") and isinstance(constant, int) and run.in_batches and counts:
        return run.last_batch is (op == "==")
    if op in ("==", "is", "!=", "is not") and left.origin is not Origin.DATA:
        return run.equals(text_of(left), text_of(right), left.origin) is (op in ("==", "is"))
    return _decide_text(run, value)


def origin_of(parts: tuple[Value, ...]) -> Origin:
    """Where what is computed from several values comes from."""
    if any(isinstance(part, Loss) for part in parts):
        return Origin.DATA
    origins = {part.origin for part in parts if isinstance(part, Symbol)}
    origins |= {origin_of(part.parts) for part in parts if isinstance(part, Condition)}
    return next((kind for kind in (Origin.DATA, Origin.OPAQUE) if kind in origins), Origin.RUN)


def settle(run: Run, symbol: Symbol, constant: Value) -> None:
    """Notes that a symbol is equal to a constant in this run: to no other one that it may be equal to."""
    key = f"{symbol.text} == {text_of(constant)}"
    run.equal.setdefault(symbol.text, text_of(constant))
    run.decisions.setdefault(key, Decision(key, True, symbol.origin))


def resolve(run: Run, value: Value) -> Value:
    """The operand that an `and`/`or` over unknown operands stands for in this run."""
    while isinstance(value, Condition) and value.op in ("and", "or"):
        wanted = value.op == "or"
        value = next((part for part in value.parts[:-1] if truth(run, part) is wanted), value.parts[-1])
    return value
