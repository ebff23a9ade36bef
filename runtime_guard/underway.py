"""Whether the user's code may change gradients between a criterion and `.grad`: then what a loss weighs is not known.

The graph says what a loss was multiplied by on its way to `backward()`, and nothing of what hooks make of the gradients
below the criterion. Where they are is known: at the parameters; at other tensors, which leave a mark with their node
when they are given one; at modules, around which the graph has a function of torch's. So are functions of the user's
that pass on what they take and multiply its gradient. What a hook does is read from its code (`edits`).

A graph is walked in the first passes of a place, then in one of twice as many, and after another hook was given.
"""

from __future__ import annotations

import gc
import threading
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import cache
from itertools import islice
from types import CodeType, FrameType, FunctionType
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.nn.modules._functions import BackwardHookFunction

from runtime_guard.edits import TORCHS, changes, file_of, only_multiplies
from runtime_guard.kept import Node
from runtime_guard.scaled import metadata_of

HOOKED = "what losses weigh whose gradients code of the program may change on their way: that is not judged"
SHARED = "what losses weigh that were made of one graph, back-propagated more than once: that is not judged"
_MARK = "runtime_guard.diverts"
_KEPT = "runtime_guard.retained"
_NODES = 20_000
_TORCHS = frozenset({None, BackwardHookFunction})
_NEAR = 512
_NODES_HOOKS = frozenset({"grad_fn", "register_hook"})
_GLOBAL = ("_global_backward_hooks", "_global_backward_pre_hooks")


class Running(Protocol):
    """A backward that runs, and is told of optimizers that step meanwhile."""

    stepped: set[str]

    def steps(self, optimizer: Any) -> None:
        """An optimizer uses what the backward has given it already."""


class Here(threading.local):
    """The backward that runs in a thread."""

    running: Running | None = None


class Underway:
    """What was found at each place that back-propagates. `knows`: whether a file is of a framework, which gathers
    gradients by hooks and of which it is known what it makes of them. `frames`: the user's, that run now."""

    def __init__(self, knows: Callable[[str], bool], frames: Callable[[], Iterable[FrameType]]) -> None:
        self._knows, self._frames = knows, frames
        self._here = Here()
        self._passes, self._diverts = Counter[Hashable](), dict[Hashable, bool]()
        self._given, self._kept = 0, False
        self._looked: dict[Hashable, int] = {}

    @property
    def running(self) -> Running | None:
        """The backward that runs in this thread."""
        return self._here.running

    @running.setter
    def running(self, running: Running | None) -> None:
        self._here.running = running

    def hooked(self, tensors: Sequence[Tensor]) -> bool:
        """Whether hooks at some parameters may change what comes into their `.grad`."""
        return any(map(self._changed_at, tensors))

    def _changed_at(self, leaf: Any) -> bool:
        before, after = leaf._backward_hooks, getattr(leaf, "_post_accumulate_grad_hooks", None)
        if not before and not after:
            return False
        return self._any_changes(before or {}, returns=True) or self._any_changes(after or {}, returns=False)

    def _any_changes(self, hooks: dict[Any, Any], returns: bool = True) -> bool:
        return any(self._changes(hook, returns) for hook in hooks.values())

    def _changes(self, hook: Any, returns: bool = True) -> bool:
        return changes(hook, returns) and not self._knows(file_of(hook))

    def shares(self, roots: Sequence[Tensor], keeps: bool) -> bool:
        """Whether losses have a part of their graphs in common with others that were back-propagated and kept: then
        they are of the same batch. `keeps`: their graphs are kept as well."""
        if not keeps and not self._kept:
            return False
        nodes = list(islice((node for node in _nodes(roots) if not hasattr(node, "variable")), _NEAR))
        found = self._kept and any(_KEPT in metadata_of(node) for node in nodes)
        for node in nodes if keeps else ():
            metadata_of(node)[_KEPT] = True
            self._kept = True
        return found

    def given(self, args: Any, kwargs: Any) -> None:
        """A tensor was given a hook: left with the node that made it, if the hook may change the gradient."""
        tensor = args[0]
        node = tensor.grad_fn
        hook = args[1] if len(args) > 1 else kwargs.get("hook")
        if node is not None and self._changes(hook):
            metadata_of(node)[_MARK] = True
            self._given += 1

    def looks_again(self) -> None:
        """To be told that a module was given a hook."""
        self._given += 1

    def diverts(self, place: Hashable, roots: Sequence[Tensor]) -> bool:
        """Whether anything in the graph of some losses may change their gradients."""
        self._passes[place] += 1
        passes, known = self._passes[place], self._diverts.get(place, False)
        if passes & (passes - 1) and (known or self._looked.get(place) == self._given):
            return known
        self._looked[place] = self._given
        self._diverts[place] = self._are_diverted(roots)
        return self._diverts[place]

    def _are_diverted(self, roots: Sequence[Tensor]) -> bool:
        """Whether a mark, a function of the user's, or the hooks of a module are in the graph of some losses."""
        nodes = list(_nodes(roots))
        functions: set[Any] = {getattr(node, "_forward_cls", None) for node in nodes}
        own = (one for one in functions - _TORCHS if only_multiplies(one) and not self._knows(file_of(one.backward)))
        if any(_MARK in metadata_of(node) for node in nodes) or any(own) or self._hooks_nodes():
            return True
        if BackwardHookFunction not in functions:
            return False
        leaves = {id(node.variable) for node in nodes if hasattr(node, "variable")}
        return any(self._any_changes(hooks) for hooks in _of_modules(leaves))

    def _hooks_nodes(self) -> bool:
        """Whether the code that runs, or a function or class that its modules name, gives hooks to nodes of a graph: a
        node does not say which it has."""
        spaces = {id(frame.f_globals): frame.f_globals for frame in self._frames()}
        named = [thing for space in spaces.values() for thing in [*space.values()]]
        inner = [thing for one in named if isinstance(one, type) for thing in vars(one).values()]
        codes = {thing.__code__ for thing in (*named, *inner) if isinstance(thing, FunctionType)}
        codes |= {frame.f_code for frame in self._frames()}
        hooking = (code.co_filename for code in codes if _gives_hooks_to_nodes(code))
        return any(not (file.startswith(TORCHS) or self._knows(file)) for file in hooking)


@cache
def _gives_hooks_to_nodes(code: CodeType) -> bool:
    names = {*code.co_names}
    inner = (one for one in code.co_consts if isinstance(one, CodeType))
    return "register_prehook" in names or names >= _NODES_HOOKS or any(map(_gives_hooks_to_nodes, inner))


def _nodes(roots: Sequence[Tensor]) -> Iterator[Node]:
    """The nodes below some losses, each once; so many at most."""
    waiting: list[Node] = [root.grad_fn for root in roots if root.grad_fn is not None]
    seen = set(waiting)
    while waiting and len(seen) < _NODES:
        node = waiting.pop()
        yield node
        fresh = {inner for inner, _ in node.next_functions if inner is not None} - seen
        seen |= fresh
        waiting += fresh


def _of_modules(leaves: set[int]) -> Iterable[dict[Any, Any]]:
    """The hooks of the modules that have some for their backward, and parameters among these leaves, or none at all."""
    everywhere = torch.nn.modules.module
    yield from (getattr(everywhere, name) for name in _GLOBAL)
    for thing in gc.get_objects():
        if issubclass(type(thing), torch.nn.Module):  # not isinstance: what a weak proxy stands for may be gone
            held = vars(thing)
            hooks = [held.get(name) for name in ("_backward_hooks", "_backward_pre_hooks") if held.get(name)]
            own = {id(parameter) for parameter in thing.parameters()} if hooks else set()
            yield from hooks if not own or own & leaves else ()
