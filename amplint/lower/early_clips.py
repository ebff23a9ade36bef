"""Clips in a method that a framework calls for each micro-batch, and that has its gradients made.

What stands before that meets what the last micro-steps left; what stands after it meets the sum of what has come so
far, unless it asks whether the window is at its end.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from amplint.dialects import vocabulary as words
from amplint.dialects.vocabulary import within
from amplint.flow import program as ir
from amplint.lower.names import children, dotted, last, says, walk
from amplint.lower.trainer_settings import Length, Settings
from amplint.protocol.facts import CLIPPED_PAST

_CLIPS = frozenset({"clip_grad_norm_", "clip_grad_value_"})
_LIMITS = ("max_norm", "clip_value")
_HUGE = within(words.HUGE, "inf", "infinity")
_ENDLESS = 1e6


def clips(node: object) -> bool:
    """Whether a call clips, by the name of torch's function: one with an argument of False may do something else, and
    one with a threshold that nothing reaches only measures."""
    if not isinstance(node, ir.Call) or last(node.func) not in _CLIPS:
        return False
    given = dict(node.keywords)
    if any(says(value, False) for value in given.values()):
        return False
    limits = (*node.args[1:2], *(given[name] for name in _LIMITS if name in given))
    return not any(map(_is_endless, limits))


def _is_endless(limit: ir.Expr) -> bool:
    if isinstance(limit, ir.Const):
        number = limit.value
        return number in ("inf", "infinity") or (isinstance(number, (int, float)) and number >= _ENDLESS)
    if isinstance(limit, ir.Call):
        return any(map(_is_endless, limit.args))
    return _HUGE(last(limit))


def clipped(method: ir.Function, said: Settings, clip: str) -> Iterator[tuple[ir.Call, str, bool]]:
    """The clips of a method that has gradients made, what is wrong with each, and whether that depends on a setting.

    `clip`: the framework's own, which takes a loss scale out first.
    """
    parts = [part for part in walk(method) if isinstance(part, ir.Call)]
    makers = [part.at[:2] for part in parts if _makes(part, method.name)]
    always = {id(part) for part in _always(method.body)}
    for node in parts if makers else ():
        if not clips(node):
            continue
        if node.at[:2] < makers[0]:
            yield node, "clipped", False
        elif node.at[:2] > makers[-1]:
            if said.scaled and dotted(node.func) != clip.partition("(")[0]:
                yield node, CLIPPED_PAST, False
            elif id(node) in always and said.window is not Length.ONE:
                yield node, "clipped early", said.window is Length.UNKNOWN


def _makes(call: ir.Call, method: str) -> bool:
    """Whether a call goes back, or calls the method that a method overrides, which does."""
    return isinstance(call.func, ir.Attr) and call.func.name in ("backward", method)


def _always(nodes: Iterable[object]) -> Iterator[object]:
    """What a block does on every call: neither in a branch, nor behind one that may leave."""
    for node in nodes:
        if isinstance(node, (ir.If, ir.While, ir.Choice, ir.Logic, ir.Function, ir.Class, ir.Lambda)):
            if any(isinstance(part, (ir.Return, ir.Leave)) for part in walk(node)):
                return
            continue
        yield node
        inside = (*node.body, *node.orelse, *node.final) if isinstance(node, ir.Try) else children(node)
        yield from _always(inside)
