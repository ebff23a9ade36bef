"""Which objects play optimizer, scaler and scheduler, each with a name that no other object of the run has.

Objects are held weakly and never touched. Two optimizers over the same parameters (SAM and the optimizer inside it, or
one made anew for the next phase) share one name, because they share the gradients that the protocol speaks of.
"""

from __future__ import annotations

import gc
import weakref
from typing import Any

from torch.optim import Optimizer
from torch.optim.lr_scheduler import LRScheduler

from runtime_guard.hooks import family
from runtime_guard.owners import parameters_of


class Names:
    """Names by identity, for as long as an object lives."""

    def __init__(self, role: str) -> None:
        self._role = role
        self._made = 0
        self._of: dict[int, tuple[weakref.ref[Any], str]] = {}
        self.entries: list[tuple[weakref.ref[Any], str]] = []

    def of(self, thing: Any) -> str | None:
        """The name of an object, None if it has none."""
        entry = self._of.get(id(thing))
        return entry[1] if entry is not None and entry[0]() is thing else None

    def at(self, identity: int) -> str | None:
        """The name of an object that lives, by its identity."""
        entry = self._of.get(identity)
        return entry[1] if entry is not None else None

    def number(self, thing: Any) -> int | None:
        """The number in the name of an object, None if it has none."""
        name = self.of(thing)
        return int(name.rpartition("#")[2]) if name is not None else None

    def give(self, thing: Any, name: str | None = None) -> str:
        """A new name for an object, or the one given."""
        if name is None:
            self._made += 1
            name = f"{self._role}#{self._made}"
        self._of[id(thing)] = (weakref.ref(thing), name)
        self.entries = list(self._of.values())
        return name

    def living(self) -> list[tuple[Any, str]]:
        """Every object that still lives, with its name; the others are forgotten."""
        found = [(thing, name) for reference, name in self._of.values() if (thing := reference()) is not None]
        if len(found) < len(self._of):
            self._of = {key: entry for key, entry in self._of.items() if entry[0]() is not None}
            self.entries = list(self._of.values())
        return found


def together(kinds: str, kind: str) -> str:
    """The kinds of things that share a name, each once: `Adam/LBFGS`."""
    return "/".join(dict.fromkeys([*kinds.split("/"), kind]))


def inner(optimizer: Any) -> Any:
    """The optimizer that a framework's wrapper holds, over the same parameters; any other optimizer itself.

    A wrapper is one that was never initialized as an optimizer (torch 2.13 sets `_optimizer_step_pre_hooks` there), so
    that torch's hooks do not hear it: it steps by letting the other one step.
    """
    held = getattr(optimizer, "optimizer", None)
    heard = "_optimizer_step_pre_hooks" in getattr(optimizer, "__dict__", {})
    if heard or not isinstance(held, Optimizer) or held is optimizer:
        return optimizer
    same = list(map(id, parameters_of(held))) == list(map(id, parameters_of(optimizer)))
    return inner(held) if same else optimizer


def inner_schedule(scheduler: Any) -> Any:
    """The scheduler that a framework's wrapper holds; any other scheduler itself."""
    held = getattr(scheduler, "scheduler", None)
    wraps = isinstance(held, LRScheduler) and not isinstance(scheduler, LRScheduler)
    return inner_schedule(held) if wraps else scheduler


def driven_by(scheduler: Any, known: Names) -> Any:
    """The optimizer whose learning rates a scheduler sets; where it holds a framework's, one of those that this steps:
    their groups are its groups."""
    held = getattr(scheduler, "optimizer", None)
    if held is None or isinstance(held, Optimizer):
        return held
    groups = set(map(id, getattr(held, "param_groups", ())))
    return next((thing for thing, _ in known.living() if groups & set(map(id, thing.param_groups))), None)


def delegates(optimizer: Any, method: str) -> bool:
    """Whether a method of a wrapper is its own, and what it does to gradients it asks of the optimizer inside."""
    if not isinstance(optimizer, Optimizer) or inner(optimizer) is optimizer:
        return False
    return not getattr(type(optimizer), method).__module__.startswith("torch.")


class Early:
    """Optimizers that live already, held weakly."""

    def __init__(self) -> None:
        classes = frozenset(family(Optimizer))
        # An object refers to its class (Python 3.9 and newer): to ask for that takes a third of going through all.
        found = [thing for thing in gc.get_referrers(*classes) if type(thing) in classes and parameters_of(thing)]
        self._found = [weakref.ref(thing) for thing in found if inner(thing) is thing]

    def living(self) -> list[Any]:
        """Those that still do."""
        return [thing for reference in self._found if (thing := reference()) is not None]
