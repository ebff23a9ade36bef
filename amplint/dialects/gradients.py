"""What people call functions that keep gradients, or put others in their place."""

from __future__ import annotations

from amplint.dialects import vocabulary
from amplint.dialects.vocabulary import ending

_VERBS, _OF_GRADIENTS = frozenset(vocabulary.PUTTING.split()), ending(vocabulary.GRADIENTS)


def writes_gradients(name: str) -> bool:
    """Whether a function that is called so keeps gradients, or puts others in the place of those that were made."""
    return _OF_GRADIENTS(name) and vocabulary.words(name)[0] in _VERBS
