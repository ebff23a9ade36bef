"""What losses that a trainer is handed, or finds in a table, do with the count over which they are to be normalized."""

from __future__ import annotations

from collections.abc import Iterator

from amplint.dialects import LOSS_ARGUMENTS, LOSS_CLASSES, TOKEN_LOSSES
from amplint.dialects import vocabulary as words
from amplint.dialects.vocabulary import within
from amplint.flow import program as ir
from amplint.lower.loss_functions import LossFunction, LossFunctions, entries
from amplint.lower.names import last, walk
from amplint.lower.overrides import Overrides, with_the_count
from amplint.lower.own_means import Means
from amplint.lower.repeated_divisions import COUNT, WINDOWS
from amplint.lower.scopes import Scope
from amplint.lower.trainer_settings import Length, settings_of
from amplint.protocol.events import Site
from amplint.protocol.facts import Fact

_SHIFTED = within(words.SHIFTED)
_IGNORED = -100
"""The label that is left out (torch 2.13, `ignore_index`): only a loss of tokens has one."""


class HandedLosses:
    """The losses of a module that a trainer is handed; each is told once."""

    def __init__(self, path: str, overrides: Overrides) -> None:
        self.path, self.overrides = path, overrides
        self.losses = LossFunctions(overrides.nodes)
        self.told: set[ir.Span] = set()

    def handed(self, call: ir.Call, scope: Scope) -> Iterator[Fact]:
        """What the function does that a trainer is made with, if it leaves the window to it."""
        for name, value in call.keywords:
            if name in LOSS_ARGUMENTS and self.overrides.leaves_losses(call.func, scope):
                found = self.losses.of(value, scope)
                if found is not None:
                    yield from self._of(found, name, scope)

    def entered(self, node: ir.Assign, scope: Scope) -> Iterator[Fact]:
        """What a loss does that is put into a framework's table."""
        for value, is_class in entries(node, scope):
            found = self.losses.of_class(value) if is_class else self.losses.of(value, scope)
            if found is not None:
                yield from self._of_tokens(found, scope)

    def derived(self, klass: ir.Class, scope: Scope) -> Iterator[Fact]:
        """What a class does that derives from a framework's losses."""
        if any(scope.qualified(base) in LOSS_CLASSES for base in klass.bases):
            found = self.losses.of_class(ir.Name(klass.at, klass.name))
            if found is not None:
                yield from self._of_tokens(found, scope)

    def _of_tokens(self, found: LossFunction, scope: Scope) -> Iterator[Fact]:
        """The same of a loss that a trainer divides by the window where its labels are no tokens."""
        yield from self._of(found, "", scope, mean=any(map(_is_of_tokens, walk(found.function))))

    def _of(self, found: LossFunction, argument: str, scope: Scope, mean: bool = True) -> Iterator[Fact]:
        function = found.function
        if function.at in self.told:
            return
        self.told.add(function.at)
        settled = self.overrides.says_who_divides
        if not (argument and settled):
            yield from self.overrides.again(function)
        said = "used" if settled else with_the_count(function)
        if said == "used" or (said == "ignored" and not (mean and self._is_own_mean(found, scope))):
            return
        arguments: dict[int | str, object] = {COUNT: said, "method": found.name, "handed": argument or "a table"}
        mild = said == "ignored" and settings_of(self.overrides.nodes, scope).window is Length.ONE
        yield Fact("loss function", Site(self.path, *function.at), arguments, "overrides", mild=mild)

    def _is_own_mean(self, found: LossFunction, scope: Scope) -> bool:
        """Whether nothing but a mean over the micro-batch is returned, by a function that does not know the window."""
        if any(last(part) in WINDOWS for part in walk(found.function)):
            return False
        around = scope
        while around.outer is not None:
            around = around.outer
        around = around if found.function.name in around.bound or found.attributes else scope
        return Means(around, found.attributes, self.losses.functions).returned(found.function)


def _is_of_tokens(part: object) -> bool:
    """Whether something speaks of tokens: of labels that are left out, or that are those of the next position."""
    if isinstance(part, ir.Const):
        return part.value == _IGNORED
    return last(part) in TOKEN_LOSSES or _SHIFTED(last(part))
