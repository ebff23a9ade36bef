"""The scopes that names are bound in: of a function call, of a module."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from amplint.state.values import Function, Value


@dataclass(frozen=True)
class Module:
    """The module that code belongs to: where it stands; for one that tells what a library does, whether that is a
    framework, and what it spells how."""

    path: str
    library: bool = False
    framework: bool = False
    detail: dict[str, str] = field(default_factory=dict, compare=False, hash=False)


@dataclass(eq=False)
class Scope:
    """The names of a function call or of a module.

    `executes`: the body of `function` is executed here, not an expression of it alone.
    `module` is known of a module's own scope only.
    """

    names: dict[str, Value] = field(default_factory=dict)
    parent: Scope | None = None
    elsewhere: set[str] = field(default_factory=set)
    function: Function | None = None
    instance: Value = None
    executes: bool = False
    module: Module | None = None

    def find(self, name: str) -> Scope | None:
        """The nearest scope that binds a name."""
        scope: Scope | None = self
        while scope is not None:
            if name in scope.names:
                return scope
            scope = scope.parent
        return None

    def bind(self, name: str, value: Value) -> None:
        """Binds a name here, or where a `global` or `nonlocal` says."""
        if name in self.elsewhere and self.parent is not None:
            (self.parent.find(name) or self.outermost()).names[name] = value
        else:
            self.names[name] = value

    def outermost(self) -> Scope:
        """The scope of the module."""
        return self if self.parent is None else self.parent.outermost()
