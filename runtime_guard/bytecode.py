"""The instructions of a code, one for each name that they read or write, and what their operands are made of.

CPython 3.13 joins two loads or stores of local names in one instruction (`LOAD_FAST_LOAD_FAST`); here they are two.
"""

from __future__ import annotations

import dis
from collections.abc import Sequence
from functools import cache
from types import CodeType
from typing import Any, NamedTuple

_ACCESSES = ("LOAD", "STORE")
_TAKES = ("FOR_ITER", "UNPACK_SEQUENCE")


class Part(NamedTuple):
    """An instruction. `effect`: by how much it makes the stack grow. `target`: whether a jump leads to it."""

    opname: str
    argval: Any
    argrepr: str
    effect: int
    target: bool


@cache
def parts(code: CodeType) -> tuple[Part, ...]:
    """The instructions of a code, in order."""
    return tuple(part for one in dis.get_instructions(code) for part in _split(one))


def _split(one: dis.Instruction) -> list[Part]:
    accesses = [word for word in one.opname.split("_") if word in _ACCESSES]
    if len(accesses) < 2:
        effect = dis.stack_effect(one.opcode, one.arg)
        return [Part(one.opname, one.argval, one.argrepr, effect, one.is_jump_target)]
    return [
        Part(f"{access}_FAST", name, name, 1 if access == "LOAD" else -1, one.is_jump_target and not at)
        for at, (access, name) in enumerate(zip(accesses, one.argval, strict=True))
    ]


def operand(found: Sequence[Part], at: int, above: int) -> Sequence[Part]:
    """What makes one of the values on the stack before an instruction: the one that so many are above of.

    What a loop or an assignment takes out of another value, and what is taken out of one to be put back there, is told
    by that other value.
    """
    end = _begin(found, at, above)
    begin = _begin(found, end, 1)
    made = found[begin:end]
    if [one.opname for one in made[:2]] == ["COPY", "COPY"] or (made and made[0].opname == "DUP_TOP_TWO"):
        return operand(found, begin, 1)
    if made and made[0].opname in _TAKES and begin > 0:
        return operand(found, begin, 0)
    return made


def _begin(found: Sequence[Part], at: int, values: int) -> int:
    """Where the instructions begin that make the uppermost values of the stack."""
    while values > 0 and at > 0:
        at -= 1
        values -= found[at].effect
    return at
