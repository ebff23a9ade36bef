"""Autocast contexts, as values of a program."""

from __future__ import annotations

from dataclasses import dataclass

from amplint.execution.values import Value
from amplint.protocol.precision import Precision


@dataclass(frozen=True)
class Autocast:
    """An autocast context that has not been entered; `device` is `cuda`, `cpu` or None when it is not known."""

    device: str | None
    dtype: Value = None
    enabled: Value = True


@dataclass(frozen=True)
class Region:
    """The region that the program is in, and the kind of device that it is for."""

    precision: Precision
    device: str | None = None


@dataclass(frozen=True)
class Partial:
    """A function with some of its arguments given."""

    function: Value
    args: tuple[Value, ...]
    keywords: tuple[tuple[str, Value], ...]
