"""Other code stands between the events, and is given nothing of the step."""

from __future__ import annotations

import ast
from collections.abc import Callable

from tests.rewrites.events import is_event, places
from tests.rewrites.writing import Block, Program, after_imports, fresh, statements

_TIMER = """
class {0}:
    def __init__(self):
        self.count = 0

    def step(self):
        self.count += 1

    def update(self, value):
        self.count += value


{1} = {0}()
"""
_CALLBACKS = """
class {0}:
    def __init__(self, every):
        self.every = every
        self.calls = 0

    def on_event(self, place):
        self.calls += 1
        if self.calls % self.every == 0:
            print(place, self.calls)


{1} = [{0}(10), {0}(100)]
"""


def timer(program: Program) -> bool:
    """A timer of the program's own, with methods `step` and `update`, is told of every event."""
    tree = program.tree
    owner, made = fresh(tree, "Timer"), fresh(tree, "timer")
    return _between(tree, _TIMER.format(owner, made), f"{made}.step()", f"{made}.update(1)")


def callbacks(program: Program) -> bool:
    """Callbacks of the program's own are called between the events."""
    tree = program.tree
    owner, made = fresh(tree, "Callback"), fresh(tree, "callbacks")
    each = fresh(tree, "callback")
    return _between(tree, _CALLBACKS.format(owner, made), f"for {each} in {made}:\n    {each}.on_event('event')")


def unknown_calls(program: Program) -> bool:
    """Functions from elsewhere are called between the events, and are given nothing."""
    tree = program.tree
    beat, lap = fresh(tree, "heartbeat"), fresh(tree, "stopwatch")
    return _between(tree, f"from elsewhere import {beat}, {lap}", f"{beat}()", f"{lap}.lap('event')")


def unknown_values(program: Program) -> bool:
    """What functions from elsewhere give is kept between the events."""
    tree = program.tree
    memory, clock, kept = fresh(tree, "memory_in_use"), fresh(tree, "wall_clock"), fresh(tree, "peaks")
    head = f"from elsewhere import {memory}, {clock}\n{kept} = []"
    return _between(tree, head, f"{kept}.append({memory}())", f"{kept}.append({clock}(1))")


def logger(program: Program) -> bool:
    """A logger from elsewhere, with a method `step`, is called between the events."""
    tree = program.tree
    owner, made = fresh(tree, "ProgressLogger"), fresh(tree, "progress_logger")
    return _between(
        tree, f"from elsewhere import {owner}\n{made} = {owner}('run')", f"{made}.step()", f"{made}.log('event')"
    )


def printing(program: Program) -> bool:
    """Something is printed between the events."""
    return _between(program.tree, "", "print('event')", "assert True")


def _between(tree: ast.Module, head: str, *lines: str) -> bool:
    """Whether lines could be put behind the events, in turn; what they need stands at the head of the module."""
    put = 0
    for _, block in places(tree):
        for one in [each for each in block if is_event(each)]:
            block.insert(_at(block, one) + 1, *statements(lines[put % len(lines)], one))
            put += 1
    at = after_imports(tree)
    tree.body[at:at] = statements(head)
    return put > 0


def _at(block: Block, one: ast.stmt) -> int:
    return next(i for i, each in enumerate(block) if each is one)


ALL: dict[str, Callable[[Program], bool]] = {
    "a timer that steps": timer,
    "callbacks between": callbacks,
    "unknown calls between": unknown_calls,
    "unknown values between": unknown_values,
    "a logger that steps": logger,
    "printing between": printing,
}
