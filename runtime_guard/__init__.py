"""The live half of amplint: it sits in the training process and judges what really happens by the same rules.

Importing this package imports neither torch nor anything else; its names are loaded when they are first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from runtime_guard.guarding import GuardWarning, guard
    from runtime_guard.replay import assert_window_matches_full_batch
    from runtime_guard.unchecked import NothingChecked
    from runtime_guard.violations import ProtocolViolation, Violation

_HOMES = {
    "guard": "runtime_guard.guarding",
    "GuardWarning": "runtime_guard.guarding",
    "NothingChecked": "runtime_guard.unchecked",
    "ProtocolViolation": "runtime_guard.violations",
    "Violation": "runtime_guard.violations",
    "assert_window_matches_full_batch": "runtime_guard.replay",
}

__all__ = [
    "GuardWarning",
    "NothingChecked",
    "ProtocolViolation",
    "Violation",
    "assert_window_matches_full_batch",
    "guard",
]


def __getattr__(name: str) -> Any:
    """A name of this package, loaded when it is asked for."""
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = getattr(importlib.import_module(_HOMES[name]), name)
    globals()[name] = found
    return found
