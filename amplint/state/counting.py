"""What a number counts: the micro-steps of a window, epochs, or what its tags say."""

from __future__ import annotations

import re
from functools import lru_cache

from amplint.state.counts import Count, Length, Quotient
from amplint.state.model import LONGEST, Model
from amplint.state.values import Public, Symbol, Value, last_part

_WINDOW_NAME = re.compile(
    r"(?i)grad\w*_?acc|accum\w*(_?(steps?|iters?|batch\w*|freq\w*|num|n|every|factor|size))?$|update_freq|iters?_to_accum"
    r"|(num_|n_)?micro_?(batches|steps)|iter_size|iteration_per_update|steps_per_update|(^|_)acc_steps?$"
)
_EPOCHS_NAME = re.compile(r"(?i)^(?!\w*(per|step|iter|batch))\w*epochs?$")
_EPOCHS = frozenset({"epochs"})
TOLD = "was told the window"
"""The tag of what code that is not seen has made of the length of a window, by which it may divide; it is no number."""
OF_SCALE = frozenset({"scale"})
"""The tag of a scaler's scale, and of what was computed from it."""


@lru_cache(maxsize=4096)
def names_window(name: str) -> bool:
    """Whether a name is one that people give the length of a window."""
    return bool(_WINDOW_NAME.search(last_part(as_attribute(name))))


@lru_cache(maxsize=4096)
def names_epochs(name: str) -> bool:
    """Whether a name is one that people give a number of epochs."""
    return bool(_EPOCHS_NAME.search(last_part(as_attribute(name))))


def as_attribute(text: str) -> str:
    """The text of a setting, read of an object or out of its dict: `vars(args)["size"]` is `args.size`."""
    return _KEY(r".\1", text)


_KEY = re.compile(r"\['([^\W\d]\w*)'\]").sub


def as_symbol(value: Value) -> Value:
    """A public name that is computed with is a number that is set elsewhere."""
    return Symbol(last_part(value.name)) if isinstance(value, Public) else value


def counted(model: Model, value: Value, name: str) -> Value:
    """A plain number as what its name says it is: the length of a window, or a number of epochs.

    Raises Again for the first window of its length that is too long to be played as it is.
    """
    long = isinstance(value, Length) and value.name.isdecimal()
    if not isinstance(value, int) or not (type(value) is int or long) or value < 2:
        return value
    if names_window(name):
        if value > LONGEST:
            model.learn_length(value)
        return Length(value, name)
    return Count(value, _EPOCHS) if names_epochs(name) else value


def tags_of(value: Value) -> frozenset[str]:
    """What a number counts; a symbol that nothing else is known of may say so by its name, if it has one."""
    if type(value) is Symbol:  # first what is asked most
        if not value.tags:
            return _EPOCHS if " " not in value.text and names_epochs(value.text) else value.tags
    elif not isinstance(value, (Length, Count, Quotient)):
        return _NOTHING
    return value.tags - {TOLD} if TOLD in value.tags else value.tags


_NOTHING = frozenset[str]()
