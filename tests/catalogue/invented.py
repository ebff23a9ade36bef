"""The numbers of a message that nobody has written.

A number may come from the source, or be a constant that the rule itself is about (65504, the scale at the start).
"""

from __future__ import annotations

import re
from collections.abc import Iterable

from amplint.catalogue import RULES
from amplint.catalogue.examples import Example
from amplint.findings import Finding

NUMBER = re.compile(r"(?<![\w.+])\d+(?:\.\d+)?(?:[eE][-+]?\d+)?(?!\w|-[a-z])")
VERSION = re.compile(r"(?<=transformers )\d+\.\d+")
CONSTANTS = {65536.0, 100.0}
"""The scale that a scaler begins with (torch 2.13, `GradScaler.__init__`), and what losses ignore (`ignore_index`)."""


def invented(source: str, said: str, template: str = "") -> set[float]:
    """The numbers of a text that neither the source nor the rule's own words contain."""
    code = re.sub(r"#.*", "", source)
    said = VERSION.sub("", said)
    return _numbers(said) - _numbers(code) - _numbers(template) - CONSTANTS - {1.0}


def invented_in(example: Example, found: Iterable[Finding]) -> list[tuple[str, str]]:
    """The findings of an example whose message or advice holds such a number."""
    own = "\n".join(example.source.splitlines()[example.stage_rows :])
    literal = own + (" 4" if "accum_steps" in own else "")  # the stage sets it
    return [
        (one.code, one.message)
        for one in found
        if invented(literal, f"{one.message} {one.advice}", _template(one.code))
    ]


def _template(code: str) -> str:
    rule = RULES[code]
    return f"{rule.message} {rule.advice} {rule.remedy.message if rule.remedy is not None else ''}"


def _numbers(text: str) -> set[float]:
    return {float(number) for number in NUMBER.findall(text)}
