"""How events are written in the user's own names: read from the calls that are there, written for those that lack."""

from __future__ import annotations

import re
from functools import cache

import libcst as cst

from amplint.dialects.torch import TORCH
from amplint.protocol.events import Kind

Names = dict[str, str]

_HOLE = re.compile(r"\{(\w+)\}")
_READ_AS = {
    Kind.BACKWARD: (Kind.SCALE, Kind.BACKWARD),
    Kind.STEP: (Kind.SCALER_STEP, Kind.STEP),
    Kind.SCALER_STEP: (Kind.SCALER_STEP, Kind.STEP),
}
"""A scaled loss is back-propagated in a sentence of its own, a scaler that is switched off steps in its own, and the
optimizer of a framework steps through the framework's scaler."""


def written(kind: Kind, names: Names) -> str | None:
    """The call that an event is, of the objects of these names; None if one of them is not known."""
    sentence = TORCH.sentences[kind]
    if any(hole not in names for hole in _HOLE.findall(sentence)):
        return None
    return _HOLE.sub(lambda hole: names[hole[1]], sentence)


def read(kind: Kind, node: cst.CSTNode) -> Names:
    """The names of the objects in a call that is an event; empty where it is written in another way."""
    for one in _READ_AS.get(kind, (kind,)):
        if one in TORCH.sentences:
            names: Names = {}
            if _matches(_template(one), node, names):
                return names
    return {}


@cache
def _template(kind: Kind) -> cst.BaseExpression:
    return cst.parse_expression(_HOLE.sub(r"HOLE_\1", TORCH.sentences[kind]))


def _matches(template: cst.CSTNode, node: cst.CSTNode, names: Names) -> bool:
    """Whether a call is the one of a template, keywords aside; what stands in its holes goes into `names`."""
    if isinstance(template, cst.Name) and template.value.startswith("HOLE_"):
        role = template.value.removeprefix("HOLE_")
        bare = node.with_changes(lpar=(), rpar=()) if role == "loss" and isinstance(node, cst.BaseExpression) else node
        names[role] = cst.Module([]).code_for_node(bare)
        return True
    if isinstance(template, cst.Attribute) and isinstance(node, cst.Attribute):
        return template.attr.value == node.attr.value and _matches(template.value, node.value, names)
    if not isinstance(template, cst.Call) or not isinstance(node, cst.Call):
        return False
    positional = [arg for arg in node.args if arg.keyword is None]
    if len(positional) != len(template.args):
        return False
    for wanted, given in zip(template.args, positional, strict=True):
        if given.star or not _matches(wanted.value, given.value, names):
            return False
    return _matches(template.func, node.func, names)
