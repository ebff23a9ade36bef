"""What the words of a function that nobody sees say that it does, at most."""

from __future__ import annotations

from functools import lru_cache

from amplint.dialects import vocabulary as words
from amplint.dialects.vocabulary import consisting, ending, within

_READS, _ACTS, _COMPUTES = within(words.READING), within(words.ACTING), within(words.COMPUTING)
_OF_RATE = within(words.RATE, words.SCHEDULER)
_RATE_ALONE = consisting(words.RATE, words.SCHEDULER, words.RATE_VERBS)
_OF_GRADIENTS, _ASIDE = within(words.GRADIENTS), within(words.ASIDE)
_AVERAGES = within(words.AVERAGE)
_HIDES, _PREPARES = within(words.HIDDEN), within(words.PREPARING)
_HELD = within(words.MODEL, words.CRITERION, words.CRITERION_ITSELF)

is_tool = ending(words.TOOL)


@lru_cache(maxsize=8192)
def only_reads(name: str) -> bool:
    """Whether a function looks, keeps or brings back, or changes the rate, and has no word for acting."""
    return (_OF_RATE(name) and _RATE_ALONE(name)) or (_READS(name) and not _ACTS(name))


def only_runs(name: str) -> bool:
    """Whether a function that is given a model runs it, makes one or puts it elsewhere, and leaves its gradients."""
    return _ASIDE(name) or (_COMPUTES(name) and not _ACTS(name) and not _OF_GRADIENTS(name))


def only_prepares(name: str) -> bool:
    """Whether a function makes the inputs of a model ready."""
    return _PREPARES(name) and not _ACTS(name) and not _OF_GRADIENTS(name)


def may_take_part(name: str) -> bool:
    """Whether a method that a class leaves to others may take part in the step: no word of its own says that it only
    looks, computes or gives a model or a criterion."""
    return not (only_reads(name) or only_runs(name) or only_prepares(name) or _HELD(name))


@lru_cache(maxsize=8192)
def hides(name: str) -> bool:
    """Whether a function is called like a part of the training step, and not like one who only tells of it.

    What is called `clip` and no more may clip anything. `on_train_batch_end` tells listeners of a part of the step.
    """
    hidden = _HIDES(name) and not _AVERAGES(name)
    changes = hidden or name in ("clip", "clip_") or (_OF_GRADIENTS(name) and _ACTS(name) and not _ASIDE(name))
    return words.words(name)[:1] != ("on",) and changes and not _READS(name)


_KEEPS_ITS_KIND = frozenset("to cuda cpu half float double bfloat16 train eval requires_grad_".split())


@lru_cache(maxsize=8192)
def gives_an_object(text: str) -> bool:
    """Whether what is called is written like a class, a constructor of one, or a move of a model: it never gives None.

    `Net`, `lib.Net`, `Net.from_pretrained`, `net.to`.
    """
    *owners, name = text.split(".")
    owner = owners[-1] if owners else ""
    made = _is_a_class(name) or (_is_a_class(owner) and name.startswith("from_"))
    return made or (bool(owner) and name in _KEEPS_ITS_KIND)


def _is_a_class(name: str) -> bool:
    return name[:1].isupper() and not name.isupper()
