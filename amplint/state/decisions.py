"""What a run has decided, once and for all."""

from __future__ import annotations

from dataclasses import dataclass

from amplint.state.values import Origin


@dataclass(frozen=True)
class Decision:
    """A condition over symbols, and how it was decided for this run; `turned`: not as by default."""

    key: str
    value: bool
    origin: Origin
    turned: bool = False
