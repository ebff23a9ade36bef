"""What the options of a command line are by default, as the file that declares them with `argparse` says.

Nothing is said of an option whose default is computed, converted or asked for, and of none where something may set them
from elsewhere: a file of settings, another namespace.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from amplint.dialects import vocabulary as words
from amplint.dialects.methods import PARSES
from amplint.dialects.vocabulary import within
from amplint.protocol.defaults import NOTHING, Default, Defaults
from amplint.source.definitions import text_of
from amplint.source.makers import last_name
from amplint.source.neighbours import resolved
from amplint.source.reading import Unreadable
from amplint.source.trees import every_node, inside, tree_of

_UPDATES = frozenset({"set_defaults", "update"})
_SETTINGS = within(words.SETTINGS)
_SPEAKS = ("arg", "opt", "pars")
"""Of the options of a command line, in a text or in the name of what gives them."""

_READS = frozenset({"dict", "print", "str", "vars"})
_OTHERWISE = frozenset({"configargparse", "jsonargparse"})
"""Libraries whose parsers of the same shape read files of settings too."""

Functions = dict[str, ast.FunctionDef]


def options_of(path: str, text: str) -> Defaults:
    """The defaults of the options that a file declares, or a function of a neighbouring file that it has parse them."""
    tree = _tree(text) if any(word in text for word in _SPEAKS) else None
    if tree is None:
        return NOTHING
    nodes = every_node(tree)
    own = _declared(nodes, text)
    handed = {} if own is not None else dict(_handed(path, nodes))
    if own is None and not handed:
        return NOTHING
    found = _holders(nodes, _parsing(nodes) | handed.keys())
    values = own if own is not None else next(iter(handed.values()))
    lost = _set_by_neighbours(path, nodes, found)
    if len(handed) > 1 or not found or lost is None or _changed(nodes, found):
        return NOTHING
    lost |= {name for name, value in _set_in(nodes, _aliases(nodes, found)) if not _is_played(value)}
    return Defaults(frozenset(found), {name: value for name, value in values.items() if name not in lost})


def _tree(text: str) -> ast.Module | None:
    try:
        return tree_of(text)
    except Unreadable:
        return None


def _declared(nodes: Iterable[ast.AST], text: str) -> dict[str, Default] | None:
    """The options that a file declares, None where it makes no parser, or one of another library."""
    calls = [node for node in nodes if isinstance(node, ast.Call)]
    makes = any(last_name(call.func) == "ArgumentParser" for call in calls)
    if not makes or "argparse" not in text or any(name in text for name in _OTHERWISE):
        return None
    found: dict[str, Default] = {}
    lost: set[str] = set()
    for call in calls:
        if last_name(call.func) == "add_argument" and (name := _name(call)):
            told = _default(call)
            if told is None or found.get(name, told[0]) != told[0]:
                lost.add(name)
            else:
                found[name] = told[0]
    return {name: value for name, value in found.items() if name not in lost}


def _name(call: ast.Call) -> str:
    """What an option is called where it has been parsed; empty for what is no option."""
    said = {one.arg: one.value for one in call.keywords}
    spelled = [one.value for one in call.args if isinstance(one, ast.Constant) and isinstance(one.value, str)]
    if isinstance(dest := said.get("dest"), ast.Constant):
        return str(dest.value)
    if len(spelled) < len(call.args) or "dest" in said or not all(one.startswith("-") for one in spelled):
        return ""
    long = [one for one in spelled if one.startswith("--")] or spelled
    return long[0].lstrip("-").replace("-", "_") if long else ""


def _default(call: ast.Call) -> tuple[Default] | None:
    """What an option is if nobody gives it; None where that is not known."""
    said = {one.arg: one.value for one in call.keywords}
    action = said.get("action")
    acts = action.value if isinstance(action, ast.Constant) else last_name(action) if action is not None else "store"
    if None in said or "required" in said or acts not in _WITHOUT or not _is_single(said.get("nargs")):
        return None
    if "default" not in said:
        return (_WITHOUT[acts],)
    try:
        value = ast.literal_eval(said["default"])
    except (ValueError, TypeError, SyntaxError, RecursionError):
        return None
    converted = isinstance(value, str) and last_name(said.get("type", ast.Name("str"))) != "str"
    return (value,) if isinstance(value, (str, bool, int, float, type(None))) and not converted else None


_WITHOUT = {"store": None, "store_true": False, "store_false": True, "BooleanOptionalAction": None}
"""What an option is that is not given and has no default, by its action."""


def _is_single(count: ast.expr | None) -> bool:
    return count is None or (isinstance(count, ast.Constant) and count.value == "?")


def _parsing(nodes: Iterable[ast.AST]) -> set[str]:
    """The functions that return what they have parsed."""
    functions = [node for node in nodes if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))]
    return {function.name for function in functions if _returns_options(function)}


def _returns_options(function: ast.AST) -> bool:
    parts = inside(function)
    names = _holders(parts, set())
    returned = [part.value for part in parts if isinstance(part, ast.Return) and part.value is not None]
    return bool(returned) and all(_parses(value, set()) or last_name(value) in names for value in returned)


def _parses(value: ast.expr | None, functions: set[str]) -> bool:
    """Whether a value is what the command line is parsed to, with no arguments of the program's own."""
    if isinstance(value, ast.Subscript):
        return _parses(value.value, functions)
    if not isinstance(value, ast.Call):
        return False
    if isinstance(value.func, ast.Name) and value.func.id in functions:
        return True
    own = any(one.arg not in (None, "args") for one in value.keywords)
    given = _given(value)
    literal = any(isinstance(one, (ast.List, ast.Tuple)) and one.elts for one in given)
    return isinstance(value.func, ast.Attribute) and value.func.attr in PARSES and not own and not literal


def _holders(nodes: Iterable[ast.AST], functions: set[str]) -> set[str]:
    """The names that hold what was parsed, and never anything else."""
    bound: dict[str, list[bool]] = {}
    params = {node.name: [one.arg for one in node.args.args] for node in nodes if isinstance(node, ast.FunctionDef)}
    for node in nodes:
        for name, value in _bound(node):
            bound.setdefault(name, []).append(_parses(value, functions) or last_name(value) == name)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
            for name, value in zip(params.get(node.func.id, ()), node.args, strict=False):
                bound.setdefault(name, []).extend([True] if _parses(value, functions) else [])
    return {name for name, parsed in bound.items() if name and parsed and all(parsed)}


def _bound(node: ast.AST) -> Iterator[tuple[str, ast.expr]]:
    """The names that an assignment binds, or the attributes, by their last names."""
    if isinstance(node, ast.Assign):
        for target in node.targets:
            first = target.elts[0] if isinstance(target, ast.Tuple) and target.elts else target
            yield last_name(first), node.value
    elif isinstance(node, (ast.AnnAssign, ast.NamedExpr)) and node.value is not None:
        yield last_name(node.target), node.value


def _changed(nodes: Iterable[ast.AST], holders: set[str]) -> bool:
    """Whether something may set options from elsewhere."""
    return any(isinstance(node, ast.Call) and _sets(node, holders) for node in nodes) or any(
        isinstance(node, (ast.Assign, ast.Delete)) and any(_sets_an_item(one, holders) for one in node.targets)
        for node in nodes
    )


def _sets(call: ast.Call, holders: set[str]) -> bool:
    name, handed = last_name(call.func), any(last_name(value) in holders for value in _given(call))
    if isinstance(call.func, ast.Attribute) and name in _UPDATES:
        return name == "set_defaults" or _is_inside(call.func.value, holders)
    if name == "setattr":
        return not (len(call.args) > 1 and isinstance(call.args[1], ast.Constant)) and last_name(call.args[0]) != "self"
    return handed and name not in _READS and _SETTINGS(name) and name not in PARSES


def _sets_an_item(target: ast.expr, holders: set[str]) -> bool:
    return isinstance(target, ast.Subscript) and _is_inside(target.value, holders)


def _is_inside(owner: ast.expr, holders: set[str]) -> bool:
    """Whether it is what an object that holds options keeps them in."""
    if isinstance(owner, ast.Call):
        return last_name(owner.func) == "vars" and any(last_name(one) in holders for one in owner.args)
    held = owner.value if isinstance(owner, ast.Attribute) and owner.attr == "__dict__" else owner
    return last_name(held) in holders


def _set_by_neighbours(path: str, nodes: Iterable[ast.AST], holders: set[str]) -> set[str] | None:
    """The attributes that are set in the neighbouring files whose functions are handed what holds options; None where
    all may be, or where a function is called for no more than what it does to them, and is not seen."""
    imports = dict(_imports(nodes))
    lost = set[str]()
    for node in nodes:
        call = node.value if isinstance(node, ast.Expr) else node
        if not isinstance(call, ast.Call) or not any(last_name(one) in holders for one in _given(call)):
            continue
        first, *rest = ast.unparse(call.func).split(".")
        place = resolved(path, ".".join((imports[first], *rest))) if first in imports else None
        text = text_of(place[0]) if place is not None else None
        tree = _tree(text) if text is not None else None
        inner = every_node(tree) if tree is not None else []
        known = _aliases(inner, set())
        if tree is not None and not _changed(inner, known):
            lost |= {name for name, _ in _set_in(inner, known)}
        elif tree is not None or (call is not node and first in imports and not rest):
            return None
    return lost


def _given(call: ast.Call) -> list[ast.expr]:
    return [*call.args, *(one.value for one in call.keywords)]


def _imports(nodes: Iterable[ast.AST]) -> Iterator[tuple[str, str]]:
    """The names that imports bind, and what they stand for."""
    for node in nodes:
        if isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            for alias in node.names:
                yield alias.asname or alias.name, f"{module}{'' if module.endswith('.') else '.'}{alias.name}"
        elif isinstance(node, ast.Import):
            yield from ((alias.asname or alias.name, alias.name) for alias in node.names)


def _aliases(nodes: Iterable[ast.AST], holders: set[str]) -> set[str]:
    """The names that what holds options may go by: its own, those that are bound to it, and all of parameters."""
    known = holders | ({node.arg for node in nodes if isinstance(node, ast.arg)} - {"self", "cls"})
    return known | {name for node in nodes for name, value in _bound(node) if last_name(value) in known}


def _set_in(nodes: Iterable[ast.AST], holders: set[str]) -> Iterator[tuple[str, ast.expr | None]]:
    """The attributes of what is called so that are set, with what they are set to."""
    for node in nodes:
        targets = node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, _SETS) else []
        for target in targets:
            every = target.elts if isinstance(target, ast.Tuple) else [target]
            for one in every:
                if isinstance(one, ast.Attribute) and last_name(one.value) in holders:
                    yield one.attr, node.value if isinstance(node, ast.Assign) and one is target else None


_SETS = (ast.AugAssign, ast.AnnAssign, ast.For)


def _is_played(value: ast.expr | None) -> bool:
    """Whether a run knows what an attribute is set to, where it comes there: a truth, or another number."""
    return isinstance(value, ast.Constant) and isinstance(value.value, (bool, int))


def _handed(path: str, nodes: Iterable[ast.AST]) -> Iterator[tuple[str, dict[str, Default]]]:
    """The functions of neighbouring files that return options, by the names that they are imported by."""
    called = {node.func.id for node in nodes if isinstance(node, ast.Call) and isinstance(node.func, ast.Name)}
    for name, qualified in _imports(nodes):
        if name in called and any(word in name.lower() for word in _SPEAKS):
            found = _elsewhere(path, qualified)
            if found is not None:
                yield name, found


def _elsewhere(path: str, qualified: str) -> dict[str, Default] | None:
    """The options that a function of a neighbouring file returns."""
    place = resolved(path, qualified)
    text = text_of(place[0]) if place is not None and len(place[1]) == 1 else None
    tree = _tree(text) if text is not None else None
    if place is None or text is None or tree is None:
        return None
    nodes = every_node(tree)
    functions = [node for node in nodes if isinstance(node, ast.FunctionDef) and node.name == place[1][0]]
    if len(functions) != 1 or not _returns_options(functions[0]) or _changed(nodes, _holders(nodes, set())):
        return None
    return _declared(nodes, text)
