"""What people call functions that keep gradients, or put others in their place."""

from __future__ import annotations

import re

_WRITES_GRADIENTS = re.compile(
    r"(?i)^_?(backup|save|store|stash|restore|load|put|copy|swap|write|assign|apply|merge|project)\w*_grads?(ients?)?$"
)


def writes_gradients(name: str) -> bool:
    """Whether a function that is called so keeps gradients, or puts others in the place of those that were made."""
    return bool(_WRITES_GRADIENTS.search(name))
