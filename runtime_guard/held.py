"""What is left of the gradients of a window where it is stepped, as measured."""

from __future__ import annotations

from enum import Enum


class Held(Enum):
    """What is stepped of what the backward passes of a window gave, where these were looked at apart."""

    WHOLE = "their sum, or a multiple of it"
    LAST = "the last of them alone"
    PART = "some of the last of them"
    OTHER = "something else"
