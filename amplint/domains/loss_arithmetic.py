"""Arithmetic in which a loss takes part: the factor between the criterion's mean and what is back-propagated."""

from __future__ import annotations

import re
from fractions import Fraction

from amplint.dialects import vocabulary as words
from amplint.dialects.vocabulary import within
from amplint.domains import loss_scales, penalties, provenance
from amplint.domains.retained_losses import joined
from amplint.domains.units import QUOTIENT
from amplint.flow import program as ir
from amplint.flow.spelling import spelled
from amplint.protocol.events import Kind
from amplint.protocol.precision import Precision
from amplint.protocol.values import with_changes
from amplint.state.counting import names_window, tags_of
from amplint.state.counts import Length
from amplint.state.known_numbers import number, window_of
from amplint.state.model import WINDOW
from amplint.state.run import Run
from amplint.state.values import Loss, Origin, Symbol, Trail, Value, text_of

_SIZE = re.compile(r"^(?:len\((?P<a>.+)\)|(?P<b>.+)\.(?:size\(0\)|shape\[0\]|numel\(\)))$")
"""How the number of samples in a batch is asked for."""

_EPOCH = within(words.COUNTED)


def unweighed(run: Run, value: Symbol, scales: bool = False) -> Loss:
    """A loss of which nobody knows how much it weighs, with the window that it was divided by last. `scales`: code that
    is not seen may have scaled it."""
    divisor = value.text.rpartition(" / ")[2] if QUOTIENT in value.tags else ""
    known = bool(divisor) and window_of(run, Symbol(divisor)) is not None
    trail = Trail(forward=value.ran, reach=value.reach, perhaps=loss_scales.scaled(run, value) if scales else False)
    return Loss(None, divisor=divisor if known else None, trail=trail, whole=value.forward)


def with_loss(run: Run, node: ir.Binary, left: Value, right: Value) -> Value:
    """`left op right`, of which one is a loss."""
    op = node.op
    if isinstance(left, Loss) and isinstance(right, Loss):
        if op == "-" and spelled(node.left) == spelled(node.right):
            return 0  # `x - x == 0` asks whether it is finite
        return added(run, left, right) if op in ("+", "-") else _averaged(run, op, left, right)
    loss, other = (left, right) if isinstance(left, Loss) else (right, left)
    assert isinstance(loss, Loss)
    if op in ("+", "-"):
        loss.trail.reach |= provenance.of([other])
        loss.trail.continued |= isinstance(other, Symbol) and other.origin is Origin.RUN
        return added(run, loss, Loss(Fraction(1))) if isinstance(other, Symbol) and other.forward else loss
    factor = number(run, other)
    loss.trail.reach = penalties.divided(op, loss.trail.reach, other)
    if op == "*" and (scaled := loss_scales.multiplied(run, loss, other)) is not None:
        return scaled
    if op == "*":
        return _multiplied(run, loss, other, factor, node.right if loss is left else node.left)
    if op == "/" and isinstance(left, Loss):
        return _divided(run, loss, other, factor, node)
    return Loss(None, trail=loss.trail)


def _multiplied(run: Run, loss: Loss, other: Value, factor: int | Fraction | None, written: ir.Expr) -> Loss:
    """A loss multiplied by a number or a symbol: a share of a window, what it was divided by before, or a constant."""
    window = _window(run, other)
    of_unknown_weight = loss.weight is None and window is not None  # what a number would be lost in
    share, times = _share(run, written), loss.times(None if of_unknown_weight else factor, text_of(other))
    undone = loss.divisor is not None and (window.name == loss.divisor if window is not None else times.weight == 1)
    if undone:
        loss.trail.divided = None
        return with_changes(times, over=None, divisor=None)
    divides = share is not None or window is not None or (isinstance(written, ir.Binary) and written.op == "/")
    plain = Fraction(1) if divides or factor is None or tags_of(other) else Fraction(factor)
    return with_changes(times, over=None, divisor=share or loss.divisor, constant=loss.constant * plain)


def _window(run: Run, value: Value) -> Length | None:
    """The window's length that a value is, or stands for."""
    return window_of(run, value) or (value if isinstance(value, Length) else None)


def _share(run: Run, node: ir.Expr) -> str | None:
    """The window of which a factor, written as `1 / window`, is the share of one micro-step."""
    if not isinstance(node, ir.Binary) or node.op != "/" or not isinstance(node.left, ir.Const) or node.left.value != 1:
        return None
    window = window_of(run, Symbol(spelled(node.right)))
    return window.name if window is not None else None


def _divided(run: Run, loss: Loss, other: Value, factor: int | Fraction | None, node: ir.Binary) -> Loss:
    """A loss divided by a number or a symbol; of a loss that has been back-propagated, too late."""
    window = _window(run, other)
    if window is not None and window.name in loss.factors:
        return with_changes(loss, factors=loss.factors - {window.name})
    if run.in_framework and factor != 1 and loss.trail.shared is None:
        loss.trail.shared = _divided_before(loss, window, factor)
    if not factor or (isinstance(other, Symbol) and other.governed):
        return _by_symbol(loss, text_of(other))
    if factor > 1:
        loss.trail.divided = node.at
        if loss.trail.backed:
            run.emit(Kind.LOSS_DIVIDED, node.at)
    result = loss.times(1 / Fraction(factor), "")
    text = spelled(node.right)
    amid = any(gate.length in (text, text_of(other)) for gate in run.gates)  # where it may be the share of a term
    named = not run.in_library and run.model.is_modulus(text)  # what a library calls it is no name of the user's
    divisor = window.name if window is not None else text if named else None
    if divisor is not None and not (amid and (window is None or window.name.isdecimal())):
        return with_changes(result, divisor=divisor, over=None)
    epoch = tags_of(other) == {"batches"} and _is_mean(loss) and _EPOCH(text)
    return with_changes(result, over=text) if epoch else result


def _divided_before(loss: Loss, window: Length | None, factor: int | Fraction | None) -> str:
    """By what a loss that a library divides was divided before, if by the same window: one of the same name, or the
    same number; else empty. Nothing is said of 3, which the model gives to windows that are not written, of 2, by which
    a term may be halved, and of as many terms as are averaged."""
    if window is not None and loss.divisor == window.name and loss.weight != loss.constant:
        return window.name
    if factor is None or factor <= 2 or (window is not None and factor == WINDOW):
        return ""
    alike = loss.weight == loss.constant / factor and len(loss.trail.terms) + 1 != factor
    return (loss.divisor or str(factor)) if alike else ""


def divided_by(run: Run, loss: Loss) -> dict[str, str]:
    """What a loss was divided by, for the event of its backward; `guessed`: that is a window's length by nothing but a
    gate that asks for the same number."""
    known = loss.divisor in run.model.windows or names_window(loss.divisor or "") or (loss.divisor or "").isdecimal()
    guessed = {"guessed": "yes"} if loss.divisor and not known and run.model.is_modulus(loss.divisor) else {}
    return {name: text for name in ("divisor", "over") if (text := getattr(loss, name))} | guessed


def _is_mean(loss: Loss) -> bool:
    return loss.weight == 1 and not loss.factors and not loss.summed


def _averaged(run: Run, op: str, left: Loss, right: Loss) -> Loss:
    """A sum divided by what was summed up of the same batch (the tokens that count, say): a mean over the batch."""
    own = right.trail.born is not None and right.trail.born[0] == run.tick
    mean = op == "/" and left.summed and right.summed and own
    return with_changes(left, summed=False) if mean else Loss(None, trail=left.trail)


def _by_symbol(loss: Loss, text: str) -> Loss:
    """A loss divided by something of which the text is known: its own factor, or the size of its batch."""
    if text in loss.factors:
        return with_changes(loss, factors=loss.factors - {text})
    found = _SIZE.match(text)
    own = found is not None and (found["a"] or found["b"]) in loss.of
    if own and loss.summed:
        return with_changes(loss, summed=False)
    divided = loss.times(None, f"1 / {text}")
    return with_changes(divided, over=text if own and _is_mean(loss) else None)


def added(run: Run, left: Loss, right: Loss) -> Loss:
    """The sum of two losses: what is known of the one that says more; not known when they disagree."""
    scaler, divisor = left.scaler or right.scaler, left.divisor or right.divisor
    trail = joined(run, left, right)
    if left.trail.forward is Precision.OFF:
        left.trail.forward = right.trail.forward
    if _shares_one(left, right):
        return with_changes(left, factors=left.factors & right.factors, scaler=scaler, trail=trail)
    for known, other in ((left, right), (right, left)):
        if other.factors and not known.factors:
            return with_changes(known, scaler=scaler, trail=trail)
    over = left.over if left.over == right.over else None
    summed = left.summed or right.summed
    weight, factors, ignores = _sum_of(left, right), left.factors | right.factors, left.ignores or right.ignores
    constant = next((one.constant for one in (left, right) if one.weight == weight), Fraction(1))
    return Loss(weight, factors, scaler, divisor, over, summed=summed, trail=trail, ignores=ignores, constant=constant)


def _shares_one(left: Loss, right: Loss) -> bool:
    """Whether two losses are weighed by shares of one, `a * x + (1 - a) * y`: whatever the shares are, they are one."""
    alike = left.weight == right.weight and left.divisor == right.divisor and left.summed is right.summed
    one, other = left.factors - right.factors, right.factors - left.factors
    if not alike or len(one) != 1 or len(other) != 1:
        return False
    first, second = (*one, *other)
    return first in _rest(second) or second in _rest(first)


def _rest(share: str) -> tuple[str, str]:
    """How what a share leaves of one is written."""
    return f"1 - {share}", f"1.0 - {share}"


def _sum_of(left: Loss, right: Loss) -> Fraction | None:
    """The weight of a sum: that of its terms, if one of them only counts for more by a constant.

    Then both are divided by the same, or neither: one of them is the mean as it is, or more than that, and the sum is
    the mean of what is minimized.
    """
    if left.summed is not right.summed or left.weight is None or right.weight is None:
        return None
    if left.weight == right.weight:
        return left.weight
    if left.divisor != right.divisor:
        return None
    most = max(left.weight, right.weight)
    return most if left.divisor else Fraction(1) if most >= 1 else None
