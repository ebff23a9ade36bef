"""Functions that make what is trained, without a word of training: models that give their own loss, wrapped models."""

from __future__ import annotations

import ast

from amplint.dialects import DIALECTS
from amplint.dialects.syntax import KEYS, STRATEGIES
from amplint.source.trees import every_node, inside

Unit = ast.FunctionDef | ast.AsyncFunctionDef

WRAPPERS = frozenset(name.rpartition(".")[2] for dialect in DIALECTS for name in dialect.wrappers)
"""The last names of what wraps a model for several processes."""

_OF_STRATEGY = (STRATEGIES, "sharding_strategy")

_LOSS = ("loss", "criterion", "entropy", "objective")


def makers(tree: ast.Module, text: str) -> set[int]:
    """The functions of a module, by identity, that wrap a model for several processes, or make an object of a class of
    the module that gives its own loss."""
    every = every_node(tree)
    classes = [node for node in every if isinstance(node, ast.ClassDef) and gives_loss(node)]
    if not classes and not any(name in text for name in WRAPPERS):
        return set()
    wanted = wrapping(every) | {node.name for node in classes}
    found = {id(unit) for unit in every if isinstance(unit, Unit) and not wanted.isdisjoint(called(unit))}
    methods = (one for node in classes for one in node.body if isinstance(one, Unit))
    return found | {id(method) for method in methods if _makes_its_own(method)}


def wrapping(every: list[ast.AST]) -> frozenset[str]:
    """The names of the wrappers of models, and what the imports of a module call them."""
    imports = (node for node in every if isinstance(node, ast.ImportFrom))
    return WRAPPERS | {one.asname for node in imports for one in node.names if one.asname and one.name in WRAPPERS}


def called(unit: ast.AST) -> set[str]:
    """The last names of what a function calls."""
    return {last_name(part.func) for part in inside(unit) if isinstance(part, ast.Call)}


def called_or_asked(unit: ast.AST) -> set[str]:
    """The last names of what a definition calls, and of the classes of which it asks whether something is one."""
    asks = (part for part in inside(unit) if isinstance(part, ast.Call) and last_name(part.func) == "isinstance")
    classes = (one for call in asks for kind in call.args[1:] for one in getattr(kind, "elts", [kind]))
    return called(unit).union(map(last_name, classes))


def speaks_of_strategy(text: str) -> bool:
    """Whether a text says how a wrapper is to shard a model, or hands that on."""
    return any(word in text for word in _OF_STRATEGY)


def configures(text: str) -> bool:
    """Whether a text holds entries of a configuration that say how an engine accumulates."""
    return any(f'"{key}"' in text or f"'{key}'" in text for key in KEYS)


def is_strategy(node: ast.expr) -> bool:
    """Whether an expression is one of the ways to shard a model."""
    return isinstance(node, ast.Attribute) and last_name(node.value) == STRATEGIES


def speaks_of_loss(text: str) -> bool:
    """Whether a text holds what a loss is called."""
    lowered = text.lower()
    return any(one in lowered for one in _LOSS)


def gives_loss(unit: ast.ClassDef) -> bool:
    """Whether an object of a class returns a loss when it is called."""
    called = (node for node in unit.body if isinstance(node, ast.FunctionDef) and node.name in ("forward", "__call__"))
    returned = (part.value for node in called for part in inside(node) if isinstance(part, ast.Return) and part.value)
    return any(speaks_of_loss(ast.unparse(value)) for value in returned)


def makes_a_model(unit: Unit) -> bool:
    """Whether a function is called after a model and returns an object of a class, which perhaps gives its own loss."""
    if not any(one in unit.name.lower() for one in ("model", "net")):
        return False
    parts = inside(unit)
    returned = [part.value for part in parts if isinstance(part, ast.Return) and part.value is not None]
    names = {value.id for value in returned if isinstance(value, ast.Name)}
    made = [
        part.value
        for part in parts
        if isinstance(part, ast.Assign) and any(getattr(target, "id", "") in names for target in part.targets)
    ]
    calls = (value for value in (*returned, *made) if isinstance(value, ast.Call))
    return any(getattr(call.func, "id", "")[:1].isupper() for call in calls)


def makes_objects(unit: Unit) -> bool:
    """Whether all that a function does is to choose a class, of which it returns a new object."""
    parts = inside(unit)
    returned = [node.value for node in parts if isinstance(node, ast.Return)]
    made = [node.func for node in returned if isinstance(node, ast.Call)]
    classes = [name for name in (getattr(func, "id", "") for func in made) if name[:1].isupper()]
    calls = sum(isinstance(node, ast.Call) for node in parts)
    raised = sum(isinstance(node, ast.Raise) for node in parts)
    return len(classes) == len(returned) > 0 and calls <= len(returned) + raised


def _makes_its_own(method: Unit) -> bool:
    """Whether a method of a class makes an object of the class that it is called on, or has its base make one."""
    if not any(last_name(one) == "classmethod" for one in method.decorator_list):
        return False
    first = method.args.args[0].arg if method.args.args else ""
    return not {first, "super"}.isdisjoint(called(method))


def bases_of(unit: ast.stmt) -> list[ast.expr]:
    """What a class derives from; of `Base[T]`, which says of what it is one, `Base`."""
    return [_plain(base) for base in getattr(unit, "bases", ())]


def _plain(base: ast.expr) -> ast.expr:
    return _plain(base.value) if isinstance(base, ast.Subscript) else base


def last_name(node: ast.expr) -> str:
    """The last part of a name; empty for what has none."""
    return node.attr if isinstance(node, ast.Attribute) else getattr(node, "id", "")
