"""What a program makes by a name that its settings give, as if the name and the arguments were written there.

`instantiate(config.lr_scheduler, optimizer=optimizer)` of Hydra, `config.init_obj("lr_scheduler", optim, ...)` as
templates of projects have it, `getattr(optim, config["optimizer"]["type"])(..., **config["optimizer"]["args"])`: all of
them take the name of a class, and its arguments, from files of the project. Only what those files agree about is
taken.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import replace
from typing import cast

from amplint.dialects import vocabulary as words
from amplint.dialects.constructors import INSTANTIATES, MODULES, PARTIAL, TARGET, role_of
from amplint.dialects.vocabulary import within
from amplint.flow import program as ir
from amplint.lower.names import walk, with_parts
from amplint.lower.scopes import Scope
from amplint.source.shipped import Differs, Said, shipped

Body = tuple[ir.Stmt, ...]
Keys = tuple[str, ...]

_NAMES = ("type", "name", "class", TARGET)
_ARGUMENTS = ("args", "params", "kwargs")
_SETTINGS = within(words.FILED)
_POINTS = re.compile(r"^\$\{([A-Za-z_]\w*(?:\.[A-Za-z_]\w*)*)\}$")
"""Another setting, whose value this is (omegaconf 2.3, `grammar/OmegaConfGrammarLexer.g4`)."""


def with_constructions(path: str, body: Body) -> Body:
    """The statements of a module with what is made by the name of a setting as a call of what that names."""
    nodes = [node for statement in body for node in walk(statement)]
    if not any(isinstance(node, ir.Call) and _may_make(node) for node in nodes):
        return body
    maker = _Maker(path, Scope.of_module(body))
    made = tuple(cast("ir.Stmt", maker.node(statement)) for statement in body)
    return (*maker.imports.values(), *made)


def _may_make(call: ir.Call) -> bool:
    """Whether a call may make something by a name of the settings."""
    handed = [_keys(one) for one in (*call.args, *call.starred, *(value for _, value in call.keywords))]
    return any(handed) or (_owner(call) is not None and bool(call.args) and isinstance(call.args[0], ir.Const))


class _Maker:
    """Rewrites the statements of one file. `imports`: what they need besides, by its qualified name."""

    def __init__(self, path: str, scope: Scope) -> None:
        self.path, self.scope = path, scope
        self.imports: dict[str, ir.Import] = {}

    def node(self, node: object) -> object:
        """A node, or several, or something else, with what is made by a name in place."""
        made = with_parts(node, self.node)
        if not isinstance(made, ir.Call):
            return made
        return self._instantiated(made) or self._by_key(made) or self._looked_up(made) or self._unpacked(made)

    def _instantiated(self, call: ir.Call) -> ir.Expr | None:
        """What Hydra makes of a setting that says its `_target_`."""
        keys = _keys(call.args[0]) if call.args and self.scope.qualified(call.func) in INSTANTIATES else None
        said = shipped(self.path, keys) if keys else None
        if not isinstance(said, dict) or not isinstance(said.get(TARGET), str) or said.get(PARTIAL, False) is not False:
            return None
        given = {name: value for name, value in said.items() if not name.startswith("_")}
        return self._made(str(said[TARGET]), given, call, call.args[0], call.args[1:])

    def _by_key(self, call: ir.Call) -> ir.Expr | None:
        """What is made of a setting, or of that which is called so, out of a module that is handed over with it."""
        if len(call.args) < 2 or (inside := self.scope.qualified(call.args[1])) not in MODULES:
            return None
        setting = _named_setting(call)
        keys = _keys(setting) if setting is not None else None
        said = shipped(self.path, keys) if keys else None
        name = next((said[one] for one in _NAMES if one in said), None) if isinstance(said, dict) else None
        if setting is None or not isinstance(said, dict) or not isinstance(name, str):
            return None
        held = next((one for one in _ARGUMENTS if isinstance(said.get(one), dict)), None)
        given = said[held] if held is not None else {one: value for one, value in said.items() if one not in _NAMES}
        owner = setting if held is None else ir.Item(call.at, setting, ir.Const(call.at, held))
        return self._made(f"{inside}.{name}", cast("dict[str, Said]", given), call, owner, call.args[2:])

    def _looked_up(self, call: ir.Call) -> ir.Expr | None:
        """A member of a module by the name that a setting gives; what is made with arguments of the settings."""
        if isinstance(call.func, ir.Name) and call.func.name == "getattr" and len(call.args) == 2:
            module, keys = self.scope.qualified(call.args[0]), _keys(call.args[1])
            said = shipped(self.path, keys) if keys and module in MODULES else None
            known = isinstance(said, str) and role_of(f"{module}.{said}") is not None
            return ir.Attr(call.at, call.args[0], str(said)) if known else None
        return None

    def _unpacked(self, call: ir.Call) -> ir.Call:
        """A call of a known class with the arguments that it unpacks out of the settings."""
        keys = _keys(call.starred[-1]) if call.named else None
        known = keys is not None and role_of(self.scope.qualified(call.func) or "") is not None
        said = shipped(self.path, keys) if keys is not None and known else None
        if not isinstance(said, dict):
            return call
        given = tuple((one, self._value(value, one, call.starred[-1])) for one, value in said.items())
        return replace(call, keywords=(*call.keywords, *given), starred=call.starred[:-1], named=call.named - 1)

    def _made(
        self, name: str, given: dict[str, Said], call: ir.Call, setting: ir.Expr, args: tuple[ir.Expr, ...]
    ) -> ir.Expr | None:
        """A call of what has a name, with what the settings give it and what it is handed besides."""
        if role_of(name) is None:
            return None
        own = dict(call.keywords)
        from_settings = tuple((one, self._value(value, one, setting)) for one, value in given.items() if one not in own)
        return replace(call, func=self._imported(name, call.at), args=args, keywords=(*from_settings, *call.keywords))

    def _imported(self, name: str, at: ir.Span) -> ir.Expr:
        alias = name.rpartition(".")[2]
        while alias in self.scope.bound:
            alias += "_"
        self.imports.setdefault(name, ir.Import(at, alias, name))
        return ir.Name(at, alias)

    def _value(self, value: Said, name: str, setting: ir.Expr) -> ir.Expr:
        """What a setting is, as the program would have written it; what is not agreed about is asked for."""
        at = setting.at
        if isinstance(value, list):
            return ir.Display(at, "list", tuple(self._value(one, name, setting) for one in value))
        points = _POINTS.match(value) if isinstance(value, str) else None
        if points is not None:
            return _setting(_root(setting), points[1].split("."))
        if isinstance(value, (dict, Differs)) or (isinstance(value, str) and "${" in value):
            return ir.Item(at, setting, ir.Const(at, name))
        return ir.Const(at, value)


def _setting(root: ir.Expr, keys: list[str]) -> ir.Expr:
    for key in keys:
        root = ir.Attr(root.at, root, key)
    return root


def _chain(node: ir.Expr) -> Iterator[ir.Expr]:
    """A node, and what it is an attribute or an item of."""
    while True:
        yield node
        if not isinstance(node, (ir.Attr, ir.Item)):
            return
        node = node.owner


def _is_root(node: ir.Expr) -> bool:
    """Whether something holds what is written in files of settings: a name, or an attribute of the object itself."""
    if isinstance(node, ir.Attr) and isinstance(node.owner, ir.Name) and node.owner.name == "self":
        return _SETTINGS(node.name)
    return isinstance(node, ir.Name) and _SETTINGS(node.name)


def _root(node: ir.Expr) -> ir.Expr:
    return next((one for one in _chain(node) if _is_root(one)), node)


def _owner(call: ir.Call) -> ir.Expr | None:
    """The settings whose method is called."""
    owner = call.func.owner if isinstance(call.func, ir.Attr) else None
    return owner if owner is not None and _is_root(owner) else None


def _named_setting(call: ir.Call) -> ir.Expr | None:
    """The setting that a call is handed first, or whose key it is handed by the settings' own method."""
    first, root = call.args[0], _owner(call)
    if not isinstance(first, ir.Const):
        return first
    return ir.Item(call.at, root, first) if root is not None and isinstance(first.value, str) else None


def _keys(node: ir.Expr) -> Keys | None:
    """The keys under which an expression asks the settings; None for another expression."""
    keys: list[str] = []
    for one in _chain(node):
        if _is_root(one):
            return tuple(reversed(keys)) or None
        if isinstance(one, ir.Attr):
            keys.append(one.name)
        elif isinstance(one, ir.Item) and isinstance(one.index, ir.Const) and isinstance(one.index.value, str):
            keys.append(one.index.value)
        else:
            return None
    return None
