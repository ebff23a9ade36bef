"""Arithmetic and comparisons on values of the model."""

from __future__ import annotations

from fractions import Fraction

from amplint.dialects.public import computes
from amplint.domains import loss_arithmetic, penalties, precision, provenance, schedule_meanings, shown_counts, units
from amplint.flow import program as ir
from amplint.flow.spelling import spelled
from amplint.state import counting, known_numbers
from amplint.state.counting import tags_of
from amplint.state.counts import ORDERS, Count, Length, Quotient, Remainder, Turn
from amplint.state.model import WINDOW
from amplint.state.naming import bounded
from amplint.state.operations import COMPARISONS, OPERATIONS
from amplint.state.records import Filling
from amplint.state.run import Run
from amplint.state.values import (
    NUMBER,
    SET,
    Condition,
    Gated,
    Instance,
    Loss,
    Origin,
    Parameters,
    Public,
    Symbol,
    Value,
    last_part,
    text_of,
)


def running(run: Run, counter: Symbol) -> Value:
    """A counter that nobody set runs with the batches; from where is not known if something was added to it."""
    if counter.origin is Origin.DATA or counter.tags & SET:
        return counter
    return Count(run.tick + counter.offset, known_numbers.ASSUMED) if counter.offset else run.tick


def asked(value: Value) -> Value:
    """What a value is as a test: of a remainder, whether its window still has micro-steps to come."""
    if not isinstance(value, Remainder):
        return value
    return Gated(bool(value), value.length, None, value.restarts, value.assumed, value.counter, int(value))


def binary(run: Run, node: ir.Binary, left: Value, right: Value) -> Value:
    """`left op right`."""
    left, right = _as_loss(run, node.op, counting.as_symbol(left)), _as_loss(run, node.op, counting.as_symbol(right))
    if isinstance(left, Loss) or isinstance(right, Loss):
        return loss_arithmetic.with_loss(run, node, left, right)
    if node.op == "%" and node.gates:
        found = _remainder(run, left, right, node)
        if found is not None:
            return found
    left, right = _as_lists(node.op, left, right)
    if isinstance(left, (list, tuple)) and isinstance(right, (list, tuple)) and node.op == "+":
        return [*left, *right] if isinstance(left, list) else (*left, *right)
    first, second = known_numbers.number(run, left), known_numbers.number(run, right)
    if (again := _repeated(node.op, left, second)) is not None:
        return again
    if first is not None and second is not None and not _is_out_of_scale(node.op, first, second, left):
        return _exact(run, node.op, first, second, left, right)
    if isinstance(left, str) and not isinstance(right, str) and node.op == "%":
        return Symbol(repr(left))
    return _symbolic(run, node, left, right)


def _as_lists(op: str, left: Value, right: Value) -> tuple[Value, Value]:
    """The operands; where two lists are joined, one of parameters as a list in which one stands for all."""
    if op != "+" or not all(isinstance(value, (Parameters, list)) for value in (left, right)):
        return left, right
    return ([left] if isinstance(left, Parameters) else left), ([right] if isinstance(right, Parameters) else right)


def _as_loss(run: Run, op: str, value: Value) -> Value:
    """What a model returned, once it is multiplied or divided, is a loss, though perhaps no mean."""
    if op not in ("*", "/") or not isinstance(value, Symbol) or not value.forward:
        return value
    return loss_arithmetic.unweighed(run, value)


def _repeated(op: str, left: Value, right: Value) -> Value | None:
    """A list times a number, None when it is not that."""
    if op != "*" or not isinstance(left, list) or not isinstance(right, int):
        return None
    return left * min(right, 256)


def _is_out_of_scale(op: str, first: int | Fraction, second: int | Fraction, left: Value) -> bool:
    """Whether a quotient is 0 because an epoch of the model is short: of a real one nobody knows how much it is."""
    return op == "//" and 0 < first < second and "batches" in tags_of(left)


def _exact(run: Run, op: str, first: int | Fraction, second: int | Fraction, left: Value, right: Value) -> Value:
    try:
        result = Fraction(first) / Fraction(second) if op == "/" else OPERATIONS[op](first, second)
    except (ArithmeticError, KeyError, TypeError, ValueError):
        return Symbol(bounded(f"{text_of(left)} {op} {text_of(right)}"))
    if isinstance(result, Fraction) and result.denominator == 1:
        result = int(result)
    if isinstance(result, float):
        return Fraction(str(result))
    if type(result) is int and result in run.model.literals:
        return run.model.sized(result)
    tags = _tags(run, op, left, right)
    shown_counts.computed(run, op, result, left, right)
    return result if not tags else Count(result, tags) if isinstance(result, int) else Quotient(result, tags)


def _tags(run: Run, op: str, left: Value, right: Value) -> frozenset[str]:
    windows = [_is_window(run, left), _is_window(run, right)]
    return units.of_result(run, op, left, right, windows)


def _is_window(run: Run, value: Value) -> bool:
    return "window" in tags_of(value) or known_numbers.window_of(run, value) is not None


def named_text(value: Value, node: ir.Expr) -> str:
    """The text of an operand: a number that is not a literal goes by its name, for it may be another one next time."""
    changing = type(value) is not Symbol and isinstance(value, NUMBER) and not isinstance(node, ir.Const)
    return spelled(node) if changing else text_of(value)


def _symbolic(run: Run, node: ir.Binary, left: Value, right: Value) -> Symbol:
    """An operation of which only the text, the origin and what it counts are known."""
    op = node.op
    symbols = [value for value in (left, right) if isinstance(value, Symbol)]
    if op in ("+", "-") and isinstance(left, Symbol) and isinstance(right, int) and type(right) in (int, Length):
        shift = right if op == "+" else -right
        tags, shown = left.tags - units.EXACT, left.forward
        made = Symbol(left.text, left.origin, left.offset + shift, shown, tags=tags, ran=left.ran, reach=left.reach)
        shown_counts.computed(run, op, made, left, right)
        return made
    origins = {symbol.origin for symbol in symbols}
    origin = next((kind for kind in (Origin.DATA, Origin.OPAQUE) if kind in origins), Origin.RUN)
    if op == "%" and run.in_batches and isinstance(left, NUMBER) and not isinstance(node.left, ir.Const):
        origin = Origin.DATA  # a counter runs on: what it leaves is another number next time
    text = bounded(f"{named_text(left, node.left)} {op} {named_text(right, node.right)}")
    governed = any(symbol.governed for symbol in symbols)
    made = Symbol(
        text,
        origin,
        governed=governed,
        tags=_tags(run, op, left, right),
        forward=any(s.forward for s in symbols),
        ran=precision.of_operands(symbols),
        half=all(one.half for one in symbols),
        reach=penalties.divided(op, provenance.of(symbols), left, right),
    )
    shown_counts.computed(run, op, made, left, right)
    return made


def _remainder(run: Run, left: Value, right: Value, node: ir.Binary) -> Remainder | None:
    """`counter % window`, where either may be a symbol that nobody set; nothing counts yet before the first loop."""
    if isinstance(left, Length) or (isinstance(left, Symbol) and not (run.loops or run.in_batches)):
        return None  # a window that is shared out, over the processes perhaps, is no counter
    if isinstance(right, Symbol) and right.origin is not Origin.DATA and known_numbers.window_of(run, right) is None:
        run.model.learn_window(text_of(right))
    length = known_numbers.window_of(run, right) or (right if isinstance(right, int) else None)
    if length is None or length <= 0:
        return None
    run.model.learn_length(int(length))
    length = run.model.sized(length)
    if not isinstance(node.right, ir.Const):
        run.model.learn_modulus(spelled(node.right))
        run.windowless = run.windowless or (spelled(node.right) if length == 1 else "")
    if isinstance(left, Symbol):
        run.model.learn_counter(left.text)
    counter = known_numbers.number(run, left)
    if not isinstance(counter, int) or length > run.model.batches:
        return None
    name = length.name if isinstance(length, Length) else spelled(node.right) if tags_of(length) else str(int(length))
    restarts = "index" in tags_of(left) and "batches" not in tags_of(left)  # an index plus whole epochs runs on
    assumed = "assumed" in tags_of(counter) or _varies(run, name)
    return Remainder(counter % length, name, restarts, assumed, spelled(node.left))


def _varies(run: Run, name: str) -> bool:
    """Whether a window's length changes while the batches go by: then nobody knows how long the first one is."""
    return last_part(name) in run.program.varying


def compare(run: Run, node: ir.Compare, left: Value, right: Value) -> Value:
    """`left op right`: a truth, or a condition to be decided when somebody asks."""
    if isinstance(left, Remainder) or isinstance(right, Remainder):
        return _against_remainder(run, node, left, right)
    if node.op in ("in", "not in"):
        return _membership(run, node, left, right)
    if (single := _is_single(run, node, left)) is not None:
        return single
    if (later := _of_turn(run, node, left, right)) is not None:
        return later
    left = _of_unknown_length(run, node, left)
    first, second = known_numbers.number(run, left), known_numbers.number(run, right)
    if first is None and second is not None and node.gates and _may_be_a_window(left):
        run.model.learn_window(text_of(left))
    if second is None and first is not None and node.gates and _may_be_a_window(right):
        run.model.learn_window(text_of(right))
    if first is not None and second is not None and node.op in COMPARISONS:
        if node.gates and isinstance(node.right, ir.Const) and isinstance(second, int):
            run.model.learn_length(second)  # a counter runs up to it
        answer = COMPARISONS[node.op](first, second)
        length = next(
            (value.name for value in (left, right, *_lengths(run, left, right)) if isinstance(value, Length)), None
        )
        return Gated(answer, length, assumed=_varies(run, length or "")) if node.gates else answer
    return _unknown(node, left, right)


def _of_turn(run: Run, node: ir.Compare, left: Value, right: Value) -> bool | None:
    """The answer where the number of an epoch is compared with a limit beyond the epochs that are played, or None: in
    some run it is one of the later ones."""
    turn, limit = (left, right) if isinstance(left, Turn) else (right, left)
    if not isinstance(turn, Turn) or isinstance(limit, Turn) or node.op not in ORDERS:
        return None
    number, turns = known_numbers.number(run, limit), turn.turns
    if number is None or number <= turns.played or (turns.end is not None and number >= turns.end):
        return None
    rises = (node.op in (">", ">=")) is (turn is left)  # true of the later ones
    if turns.past is not None and number <= turns.past:
        return rises
    if turns.ahead is not None and number >= turns.ahead:
        return not rises
    answer = run.decide(spelled(node), Origin.RUN, default=not rises)
    if answer is rises:
        turns.past, run.late = number, True
    else:
        turns.ahead = number
    return answer


def _is_single(run: Run, node: ir.Compare, left: Value) -> bool | None:
    """The answer where it is asked if an interval is a single step, which no window is called: one of several
    optimizers may step in an interval of its own. None elsewhere."""
    answer = _SINGLE.get(f"{node.op} {node.right.value!r}") if isinstance(node.right, ir.Const) else None
    interval = isinstance(left, Symbol) and not counting.names_window(left.text)
    if answer is None or not interval or len(run.optimizers) < 2 or known_numbers.window_of(run, left) is None:
        return None
    return run.decide(known_numbers.single(text_of(left)), Origin.RUN, default=False) is answer


def _of_unknown_length(run: Run, node: ir.Compare, left: Value) -> Value:
    """A length as a symbol where it is compared with a written number, except for whether there is anything at all: how
    long the model takes something for says nothing of how long it is."""
    limit = node.right.value if isinstance(node.right, ir.Const) else None
    if not isinstance(left, Count) or left != run.model.batches or type(limit) is not int or node.gates:
        return left
    lengths = [text for tag in left.tags if (text := schedule_meanings.length_of(tag))]
    if len(lengths) != 1 or len(left.tags) != 2 or f"{node.op} {limit}" in _EMPTY:
        return left
    return Symbol(f"len({lengths[0]})", Origin.OPAQUE if run.in_batches else Origin.RUN)


_EMPTY = frozenset(["== 0", "!= 0", "> 0", "<= 0", ">= 1", "< 1"])
_SINGLE = {"<= 1": True, "< 2": True, "== 1": True, "> 1": False, ">= 2": False, "!= 1": False}


def _may_be_a_window(value: Value) -> bool:
    """Whether a number that is compared with a counter may be the length of a window: it is set before the loop."""
    return isinstance(value, Symbol) and value.origin is not Origin.OPAQUE and not value.tags & SET


def _lengths(run: Run, *values: Value) -> list[Length]:
    return [found for value in values if (found := known_numbers.window_of(run, value)) is not None]


def _against_remainder(run: Run, node: ir.Compare, left: Value, right: Value) -> Value:
    remainder, other = (left, right) if isinstance(left, Remainder) else (right, left)
    if node.op in ("in", "not in"):
        return _among(run, node, left, right)
    value = _in_the_window(run, remainder, other) if isinstance(remainder, Remainder) else None
    if not isinstance(remainder, Remainder) or value is None or node.op not in COMPARISONS:
        return _unknown(node, left, right)
    compared = COMPARISONS[node.op]
    return _gated(remainder, compared(int(remainder), value) if left is remainder else compared(value, int(remainder)))


def _among(run: Run, node: ir.Compare, left: Value, right: Value) -> Value:
    """Whether a remainder is one of some places in its window; which of them are meant may not be known."""
    if isinstance(left, Remainder) and isinstance(right, (list, tuple)):
        places = [_in_the_window(run, left, one) for one in right]
        if None not in places:
            return _gated(left, (int(left) in places) is (node.op == "in"))
    return Symbol(bounded(f"{text_of(left)} {node.op} {text_of(right)}"), Origin.OPAQUE)


def _gated(remainder: Remainder, answer: bool) -> Gated:
    length, place = remainder.length, int(remainder)
    return Gated(answer, length, None, remainder.restarts, remainder.assumed, remainder.counter, place)


def _in_the_window(run: Run, remainder: Remainder, other: Value) -> int | Fraction | None:
    """A number that a remainder is compared with: of one that is written, the place in the model's window."""
    if isinstance(other, int) and type(other) is int and _is_literal(run, remainder.length):
        return _place(other, int(remainder.length))
    return known_numbers.number(run, other)


def _is_literal(run: Run, length: str) -> bool:
    """Whether the length of a window is a number that is played as a smaller one."""
    return length.isdecimal() and int(length) in run.model.literals


def _place(written: int, length: int) -> int:
    """A place in a window that is too long to be played as the one that the model has: those at its end stay there."""
    return WINDOW - (length - written) if length - written < WINDOW else min(written, WINDOW - 1)


_PLAIN = (str, bool, type(None), Public, tuple)


def _unknown(node: ir.Compare, left: Value, right: Value) -> Value:
    """A comparison in which a symbol takes part; of two things that are known, the answer."""
    kinds = (Symbol, Condition)
    if isinstance(left, Instance) and left.doubted and right is None:
        left = Symbol(left.doubted, Origin.OPAQUE)
    if isinstance(left, kinds) or isinstance(right, kinds):
        return Condition(node.op, (left, right), _texts(node, left, right))
    if node.op in ("is", "==") and (left is None or right is None):
        return left is right
    if node.op in ("is not", "!=") and (left is None or right is None):
        return left is not right
    left, right = _another(left, right), _another(right, left)
    if isinstance(left, _PLAIN) and isinstance(right, _PLAIN) and node.op in ("==", "!=", "is", "is not"):
        answer = (left == right) is (node.op in ("==", "is"))
        asks = any(map(precision.is_dtype, (left, right)))
        return Condition(node.op, (left, right), (spelled(node.left), spelled(node.right))) if asks else answer
    return Condition(node.op, (left, right), _texts(node, left, right))


def _another(value: Value, other: Value) -> Value:
    """A public name as a setting that is not known, unless it is compared with another one of the same owner."""
    if not isinstance(value, Public) or not isinstance(other, (str, Public, *NUMBER)):
        return value
    apart = not isinstance(other, Public) or value.name.rpartition(".")[0] != other.name.rpartition(".")[0]
    return Symbol(value.name.lstrip(".")) if apart and not computes(value.name) else value


def _texts(node: ir.Compare, left: Value, right: Value) -> tuple[str, ...]:
    return named_text(left, node.left), named_text(right, node.right)


def _membership(run: Run, node: ir.Compare, left: Value, right: Value) -> Value:
    """`left in right`, for a display as one equality per element; of two texts, the answer."""
    if isinstance(left, str) and isinstance(right, str):
        return (left in right) is (node.op == "in")
    if isinstance(right, dict) and not isinstance(right, Filling):
        right = list(right)
    if isinstance(right, (list, tuple)) and all(isinstance(item, (*_PLAIN, *NUMBER)) for item in right):
        if left is None or isinstance(left, (str, *NUMBER)):
            return (left in right) is (node.op == "in")
        either = Condition("or", tuple(Condition("==", (left, item)) for item in right))
        return either if node.op == "in" else Condition("not", (either,))
    if (
        run.in_batches
        and isinstance(left, NUMBER)
        and isinstance(right, Symbol)
        and not isinstance(node.left, ir.Const)
    ):
        found = Symbol(f"{text_of(left)} in {right.text}", Origin.OPAQUE)  # a counter: another number next time
        return found if node.op == "in" else Condition("not", (found,))
    return Condition(node.op, (left, right), _texts(node, left, right))
