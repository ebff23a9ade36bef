"""What becomes of an object wherever a module takes it: through functions, what they return, and attributes.

An object that gets to where nobody looks is left out: it is handed to what is not of the module, put into something, or
returned to a caller who is not seen. So is one that another file may get at.
"""

from __future__ import annotations

import builtins
import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from amplint.flow import program as ir
from amplint.lower.kept_in_objects import BASES, asks_others, trains
from amplint.lower.names import last, walk
from amplint.lower.whole_modules import Module
from amplint.source.configured import configured

Body = tuple[ir.Stmt, ...]
Key = int | str | None
"""Which element of a tuple or a dict an object is; None where it is not in one."""
ELEMENT = "[]"
"""Stands for every element of a list."""
_LOOKS = frozenset({"id", "isinstance", "len", "print", "repr", "str", "type"})
_SCOPES = (ir.Function, ir.Lambda)
MOST_PLACES = 32
MOST_AROUND = 3
"""Of objects that have objects."""


@dataclass(frozen=True)
class Place:
    """Where an object is: under a name of a function (of the module if None), an attribute of objects, or what a
    function returns; `key`: as which element of that."""

    kind: str
    within: object
    name: str
    key: Key = None


NAME, FIELD, RESULT = "name", "field", "result"


class _Away(Exception):
    """The object gets to where nobody looks."""


def followed(path: str, body: Body, wanted: set[ir.Span]) -> dict[ir.Span, tuple[frozenset[str], bool]]:
    """Per call (of those wanted) whose result stays in the module: the attributes that are read of it, and that the
    module trains with the optimizer that it was given."""
    if not wanted or not (module := Module(body)).trains():
        return {}
    found = {}
    for call in module.calls:
        if call.at in wanted and call.args and module.steps(call.args[0]):
            way = _Way(module)
            try:
                way.go(path, call)
            except _Away:
                continue
            found[call.at] = (frozenset(way.reads), True)
    return found


class _Way:
    """The places that an object comes to in a module. `around`: the classes whose objects have it, from the outside in;
    of such an object all may be asked, as what it is asked for is looked at by itself."""

    def __init__(self, module: Module, around: tuple[ir.Class, ...] = ()) -> None:
        self.module, self.around = module, around
        self.reads: set[str] = set()
        self.places: list[Place] = []
        self.asked: set[str] = set()
        """The classes whose methods are handed the object."""

    def go(self, path: str, call: ir.Call) -> None:
        """Looks at every place of what a call makes, those included that are found on the way.

        Raises _Away if one of them is out of sight.
        """
        self.use(call, None)
        for place in self.places:
            if len(self.places) > MOST_PLACES:
                raise _Away
            if place.kind == NAME:
                self._at_name(place)
            elif place.kind == FIELD:
                self._at_field(place)
            else:
                self._at_result(place)
        if self._leaves(path):
            raise _Away
        for place in self.places:
            if isinstance(place.within, ir.Class) and not trains(self.module.body, place.within):
                self._follow_objects(path, place.within)

    def _follow_objects(self, path: str, klass: ir.Class) -> None:
        """Looks at where the objects of a class come to that have the object, unless they train by themselves."""
        if klass in self.around or len(self.around) >= MOST_AROUND:
            raise _Away
        for call in self.module.calls:
            if isinstance(call.func, ir.Name) and call.func.name == klass.name:
                _Way(self.module, (*self.around, klass)).go(path, call)

    def _leaves(self, path: str) -> bool:
        """Whether another file names a function or an attribute by which the object is got at, or derives from the
        class that has it."""
        results = [place for place in self.places if place.kind == RESULT]
        methods = {place.name for place in results if place.within not in self.module.functions.values()}
        names = {place.name for place in results} - methods
        names |= {place.name for place in self.places if place.kind == NAME and place.within is None}
        fields = {place.name for place in self.places if place.kind == FIELD}
        classes = self.asked | {place.within.name for place in self.places if isinstance(place.within, ir.Class)}
        module = re.escape(os.path.splitext(os.path.basename(path))[0])
        imported = rf"(?m)(?:\bimport\b[^\n]*\b|^[ \t]+|\b{module}\.)(?:{_any(names)})[ \t]*(?:,|\(|\)|$)"
        patterns = {
            imported: names,
            rf"(?<!\bself)(?<!\bcls)\.(?:{_any(methods)})\(": methods,
            rf"(?<!\bself)\.(?:{_any(fields)})\b": fields,
            rf"class\s+\w+\s*\([^)]*\b(?:{_any(classes)})\b": classes,
        }
        return bool(configured(path, {pattern: pattern for pattern, wanted in patterns.items() if wanted}))

    def _add(self, place: Place) -> None:
        if place not in self.places:
            self.places.append(place)

    def use(self, node: object, key: Key) -> None:
        """What is done with an expression that is the object, or that has it as an element."""
        parent = self.module.parents.get(id(node))
        if isinstance(parent, ir.Attr):
            if key is not None or (not self.around and "step" in parent.name and parent.name != "_step_count"):
                raise _Away
            self.reads.add(parent.name)
        elif isinstance(parent, ir.Item) and parent.owner is node and isinstance(parent.index, ir.Const):
            if key in (parent.index.value, ELEMENT):
                self.use(parent, None)
        elif isinstance(parent, ir.Assign) and parent.value is node:
            self._bind(parent.target, key, parent)
        elif isinstance(parent, ir.Return):
            self._returned(parent, key)
        elif isinstance(parent, ir.Comprehension) and parent.element is node and key is None:
            self.use(parent, ELEMENT)
        elif isinstance(parent, (ir.Display, ir.Mapping)) and key is None:
            self._put(parent, node)
        elif isinstance(parent, ir.Call) and parent.func is not node:
            self._handed(parent, node, key)
        elif not isinstance(parent, (ir.Do, ir.If, ir.Compare)):
            raise _Away

    def _put(self, whole: ir.Display | ir.Mapping, node: object) -> None:
        """The object becomes an element: of what is returned, or bound at once."""
        if isinstance(whole, ir.Display):
            key: Key = next(at for at, item in enumerate(whole.items) if item is node)
        else:
            keys = [key for key, value in whole.items if value is node]
            key = keys[0].value if isinstance(keys[0], ir.Const) and isinstance(keys[0].value, str) else None
        parent = self.module.parents.get(id(whole))
        if key is None or not isinstance(parent, (ir.Return, ir.Assign)):
            raise _Away
        self.use(whole, key)

    def _bind(self, target: ir.Expr, key: Key, at: ir.Assign) -> None:
        if isinstance(target, ir.Display) and isinstance(key, int) and key < len(target.items):
            target, key = target.items[key], None
        if isinstance(target, ir.Name):
            self._add(Place(NAME, self.module.around(at, (ir.Function, ir.Class)), target.name, key))
        elif isinstance(target, ir.Attr) and _is_self(target.owner):
            self._add(Place(FIELD, self.module.around(at, (ir.Class,)), target.name, key))
        else:
            raise _Away

    def _returned(self, at: ir.Return, key: Key) -> None:
        function = self.module.around(at, _SCOPES)
        if not isinstance(function, ir.Function) or function.generator or any(map(_remakes, function.decorators)):
            raise _Away
        self._add(Place(RESULT, function, function.name, key))

    def _handed(self, call: ir.Call, node: object, key: Key) -> None:
        """The object is an argument: of a function or class of the module, or of what only looks at it."""
        name = last(call.func)
        if isinstance(call.func, ir.Name) and name in _LOOKS and hasattr(builtins, name):
            return
        if call.starred:
            raise _Away
        given = next((at for at, arg in enumerate(call.args) if arg is node), None)
        named = next((word for word, value in call.keywords if value is node), None)
        for function, klass, bound in self._callees(call):
            if function is None:  # a class that says what its objects hold
                assert klass is not None
                held = (
                    named
                    if named is not None
                    else dict(enumerate(klass.fields)).get(given if given is not None else -1)
                )
                self._hold(klass, held, key)
                continue
            params = function.params[bound:]
            plain = [param.name for param in params if not param.star]
            word = named if named is not None else _at(plain, given)
            if word not in plain or any(map(_remakes, function.decorators)):
                raise _Away
            self._add(Place(NAME, function, word, key))

    def _hold(self, klass: ir.Class | None, name: str | None, key: Key) -> None:
        if klass is None or name not in klass.fields:
            raise _Away
        self._add(Place(FIELD, klass, name, key))

    def _callees(self, call: ir.Call) -> Iterator[tuple[ir.Function | None, ir.Class | None, int]]:
        """What a call may run that the module defines, with how many of its parameters are bound before."""
        func, module = call.func, self.module
        if isinstance(func, ir.Name) and isinstance(function := module.functions.get(func.name), ir.Function):
            yield function, None, 0
        elif isinstance(func, ir.Name) and isinstance(klass := module.classes.get(func.name), ir.Class):
            made = [node for node in klass.body if isinstance(node, ir.Function) and node.name == "__init__"]
            if len(made) > 1 or not (made or klass.fields) or not _is_plain(module, klass):
                raise _Away
            yield (made[0], klass, 1) if made else (None, klass, 0)
        elif isinstance(func, ir.Attr) and self._is_own(func.owner) and (methods := module.methods(func.name)):
            for method in methods:
                owner = self.module.around(method, (ir.Class,))
                self.asked |= {owner.name} if isinstance(owner, ir.Class) else set()
                yield method, None, "staticmethod" not in map(last, method.decorators)
        else:
            raise _Away

    def _is_own(self, owner: ir.Expr) -> bool:
        """Whether an expression is an object of a class of the module, or such a class."""
        if _is_self(owner) or last(owner) == "cls":
            klass = self.module.around(owner, (ir.Class,))
            return isinstance(klass, ir.Class) and _is_plain(self.module, klass)
        if isinstance(owner, ir.Call):
            return last(owner.func) in self.module.classes
        name = last(owner)
        if name in self.module.classes:
            return True
        made = [node.value for node in self.module.nodes if isinstance(node, ir.Assign) and last(node.target) == name]
        return bool(made) and all(isinstance(one, ir.Call) and self._is_own(one) for one in made)

    def _at_name(self, place: Place) -> None:
        scope = place.within
        if isinstance(scope, ir.Class) or self.module.tells_all:
            raise _Away
        nodes = self.module.nodes if scope is None else walk(scope)
        for node in nodes:
            if isinstance(node, ir.Global) and place.name in node.names:
                raise _Away
            if isinstance(node, ir.Text):
                self._said(node.text, rf"(?<![\w.]){re.escape(place.name)}(?:\.(\w+))?(?!\w)")
            if isinstance(node, ir.Walrus) and node.name == place.name:
                raise _Away
            if isinstance(node, ir.Name) and node.name == place.name and not self._is_target(node):
                if scope is not None or not self._is_local(node):
                    self.use(node, place.key)

    def _is_local(self, node: ir.Name) -> bool:
        """Whether a name that a function binds itself is meant."""
        function = self.module.around(node, (ir.Function,))
        if not isinstance(function, ir.Function):
            return False
        bound = (part for part in walk(function) if isinstance(part, ir.Name) and self._is_target(part))
        return node.name in {param.name for param in function.params} | {part.name for part in bound}

    def _is_target(self, node: object) -> bool:
        parent = self.module.parents.get(id(node))
        while isinstance(parent, ir.Display):
            node, parent = parent, self.module.parents.get(id(parent))
        return isinstance(parent, (ir.Assign, ir.For, ir.With)) and parent.target is node

    def _at_field(self, place: Place) -> None:
        """Every attribute of the name counts, whatever it is read of; the object itself must not get away."""
        klass = place.within
        if not isinstance(klass, ir.Class) or self.module.hidden or not _is_plain(self.module, klass):
            raise _Away
        for node in self.module.nodes:
            if isinstance(node, ir.Text):
                self._said(node.text, rf"\.{re.escape(place.name)}\b(?:\.(\w+))?(?!\w)")
            if isinstance(node, ir.Attr) and node.name == place.name and not self._is_target(node):
                self.use(node, place.key)
        for node in walk(klass):
            if (_is_self(node) and not self._stays(node)) or isinstance(node, ir.Yield) or asks_others(node):
                raise _Away

    def _stays(self, node: object) -> bool:
        """Whether `self` is but asked for an attribute, or handed to what the module defines, or Python."""
        parent = self.module.parents.get(id(node))
        if isinstance(parent, ir.Call) and parent.func is not node:
            name = last(parent.func)
            return name in self.module.functions or name in self.module.classes or hasattr(builtins, name)
        return isinstance(parent, ir.Attr)

    def _said(self, text: str, pattern: str) -> None:
        """What a text of the program, that is not taken apart, reads of the object."""
        inside = [match[1] for match in re.finditer(pattern, text)]
        if not all(inside) or any("step" in name for name in inside):
            raise _Away
        self.reads.update(inside)

    def _at_result(self, place: Place) -> None:
        function, found = place.within, False
        if not isinstance(function, ir.Function):
            raise _Away
        outer = self.module.around(function, (ir.Class, *_SCOPES))
        if isinstance(outer, ir.Class) and not _is_plain(self.module, outer):
            raise _Away
        for node in self.module.nodes:
            if not isinstance(node, (ir.Name, ir.Attr)) or node.name != place.name:
                continue
            call = self.module.parents.get(id(node))
            if not isinstance(call, ir.Call) or call.func is not node:
                raise _Away
            found = True
            self.use(call, place.key)
        if not found:
            raise _Away  # whoever calls it is not seen


def _at(names: Sequence[str], place: int | None) -> str:
    return names[place] if place is not None and place < len(names) else ""


def _any(names: set[str]) -> str:
    return "|".join(sorted(map(re.escape, names))) or "(?!)"


def _is_self(node: object) -> bool:
    return isinstance(node, ir.Name) and node.name == "self"


def _remakes(decorator: ir.Expr) -> bool:
    return last(decorator) not in ("staticmethod", "classmethod")


def _is_plain(module: Module, klass: ir.Class) -> bool:
    """Whether all that a class derives from is of the module, or does nothing that matters."""
    return all(last(base) in BASES or last(base) in module.classes for base in klass.bases)
