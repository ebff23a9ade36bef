"""How a statement ends: None to go on, or a jump."""

from __future__ import annotations

from dataclasses import dataclass

from amplint.state.values import Value


@dataclass(frozen=True)
class Returned:
    """A `return` with its value."""

    value: Value


Signal = str | Returned | None
"""None, a `return`, or one of `break`, `continue` and `raise`."""
