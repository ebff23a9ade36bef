"""What a class has under a name, by itself or from a class that it derives from."""

from __future__ import annotations

from enum import Enum
from typing import Final

from amplint.state.scopes import Scope
from amplint.state.values import Class, Super, Symbol, Value


class Missing(Enum):
    """That there is nothing, where None is something."""

    NOTHING = "nothing"


MISSING: Final = Missing.NOTHING
"""Stands for what a class does not have."""


def in_class(klass: Class, name: str) -> Value | Missing:
    """What a class or one that it derives from has under a name, MISSING if it has nothing."""
    if name in klass.attributes:
        return klass.attributes[name]
    return in_bases(klass, name)


def of_class(klass: Class, name: str) -> Value:
    """What a class or one that it derives from has under a name, None if that is nothing."""
    found = in_class(klass, name)
    return None if found is MISSING else found


def in_bases(klass: Class, name: str) -> Value | Missing:
    """What the classes that a class derives from have under a name, MISSING if they have nothing."""
    for base in klass.bases:
        if isinstance(base, Class):
            found = in_class(base, name)
            if found is not MISSING:
                return found
    return MISSING


def super_of(scope: Scope) -> Value:
    """`super()`: the bases of the class that the running method was defined in."""
    found: Scope | None = scope
    while found is not None:
        if found.function is not None and found.function.owner is not None and found.instance is not None:
            return Super(found.instance, found.function.owner)
        found = found.parent
    return Symbol("super()")
