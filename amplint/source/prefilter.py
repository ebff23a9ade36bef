"""Which files can hold a training step at all, told from their bytes.

Most files of a repository hold none: this search decides for 50 MB in about a tenth of a second, before anything is
decoded or parsed. The words are those of the dialects, so a new dialect needs nothing here.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable

from amplint.dialects import WORDS

COMMENT = b"amplint:"
_NOQA = re.compile(rb"noqa\s*:[^\n]*[a-z]-[a-z]", re.IGNORECASE)


def holds_training_words(data: bytes, taught: Collection[str] = ()) -> bool:
    """Whether the bytes hold a word that some dialect gives a meaning to, one that was `taught` included, or may make
    an optimizer: another file may step it."""
    if any(word.encode() in data for word in taught) or _makes_an_optimizer(data):
        return True
    # One `in` per word is a memory search each, and on real trees three times faster than one regular expression.
    return any(word in data for word in _NEEDED)


def _makes_an_optimizer(data: bytes) -> bool:
    """Whether the bytes may hold the making of an optimizer, or call what makes one."""
    return b"optim" in data and (b"parameters()" in data or b"optimizer(" in data or b"optimizers(" in data)


def more_than_zeroing(text: str) -> bool:
    """Whether a text holds such a word besides `zero_grad`, which alone says nothing."""
    return any(word in text for word in WORDS if word != ".zero_grad")


def holds_comment(data: bytes) -> bool:
    """Whether the bytes may hold a comment that speaks to amplint, or one that was meant to."""
    return COMMENT in data or ((b"noqa" in data or b"NOQA" in data) and _NOQA.search(data) is not None)


def _needed(words: Iterable[str]) -> tuple[bytes, ...]:
    """The words without those that hold another one, which is found wherever they are."""
    kept: list[str] = []
    for word in sorted(words, key=lambda word: (len(word), word)):
        if not any(shorter in word for shorter in kept):
            kept.append(word)
    return tuple(word.encode() for word in kept)


_NEEDED = _needed(WORDS)
