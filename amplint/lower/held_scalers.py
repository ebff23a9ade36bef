"""Loss scalers that a framework holds: their state is in no checkpoint that the user writes by himself.

Said of a module that makes such an object, or has the framework make a scaler, saves an optimizer's state and loads one
again, or is used along with a file that does, and neither speaks of a scaler nor has the framework save what it holds,
nor hands the object to whoever may.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Mapping

from amplint.dialects import GOVERNS, HOLDS
from amplint.dialects.dialect import Holding
from amplint.flow import program as ir
from amplint.flow.spelling import spelled
from amplint.lower.checkpoints import keeps, optimizers_loaded, optimizers_saved, speaks_of_scaler
from amplint.lower.names import binds, imports, last, public_name, walk
from amplint.lower.scaler_conditions import condition
from amplint.protocol.events import Site
from amplint.protocol.facts import SAVED, Fact
from amplint.source.definitions import text_of
from amplint.source.imported import imported
from amplint.source.importing import importers

_NAMES = frozenset(name.rpartition(".")[2] for name in HOLDS)


def held_scalers(path: str, body: tuple[ir.Stmt, ...]) -> Iterator[Fact]:
    """At most one fact, of the first save."""
    nodes = [node for statement in body for node in walk(statement)]
    called = [node for node in nodes if isinstance(node, ir.Call) and last(node.func) in _NAMES]
    names = imports(nodes) if called else {}
    made = {call: held for call in called if (held := HOLDS.get(public_name(call.func, names))) is not None}
    holding = next(iter(made.values()), None)
    others = {qualified.lstrip(".").partition(".")[0] for qualified in names.values()} & GOVERNS
    if holding is None or len(made) < len(called) or others - {holding.framework}:
        return
    if (len(made) > 1 and not holding.fixed) or _may_be_saved(nodes, holding, made.keys(), names):
        return
    asked = {call: _condition(call, holding, nodes) for call in made}
    when = next((said for said in asked.values() if said is not None), None)
    resumed = when is not None and (any(optimizers_loaded(nodes)) or _loaded_beside(path, holding))
    saved = sorted(optimizers_saved(body)) if resumed else []
    if saved:
        said: dict[int | str, object] = {"optimizer": True, "scaler": False, "through": holding.framework}
        scaling = {call for call, one in asked.items() if one is not None}
        said["when"] = when or condition(body, lambda node: node in scaling, saved[0])
        yield Fact(SAVED, Site(path, *saved[0]), said)


def _condition(call: ir.Call, holding: Holding, nodes: list[object]) -> str | None:
    """Under which condition a call makes a scaler whose scale moves; None where that is not known."""
    given = dict(call.keywords)
    fixed = given.get(holding.fixed)
    if fixed is not None and not (isinstance(fixed, ir.Const) and fixed.value == "dynamic"):
        return None
    if isinstance(switch := given.get("enabled"), ir.Const) and not switch.value:
        return None
    if holding.usual and holding.argument not in given:
        return "" if not call.starred else None
    return _asked(given.get(holding.argument), holding.values, nodes)


def _loaded_beside(path: str, holding: Holding) -> bool:
    """Whether a file that is used along with this one gives an optimizer a state, and none of them speaks of the state
    of a scaler or has the framework save or load one."""
    users = importers(path)[:MOST_USERS]
    files = dict.fromkeys(file for user in users for file in (user, *sorted(imported(user))))
    texts = [text for file in files if (text := text_of(file)) is not None]
    saves = [".".join(name.split(".")[-2:]) for name in holding.saves]
    kept = any(_KEEPS.search(text) or any(f"{name}(" in text for name in saves) for text in texts)
    return not kept and any(_LOADS.search(text) for text in texts)


MOST_USERS = 4
"""Files that import one which are asked who loads what it saves."""

_LOADS = re.compile(r"(?i)\b\w*optim\w*\.load_state_dict\(")
_KEEPS = re.compile(r"(?i)scaler\w*[\"'\])]*\.(?:load_)?state_dict|[\"']\w*scaler\w*[\"']|\bload_state\(")


def _asked(value: ir.Expr | None, wanted: frozenset[str], nodes: list[object]) -> str | None:
    """Under which condition a setting is one that makes a scaler, as a message names it: empty if it always is, None
    where that is not known."""
    if isinstance(value, ir.Choice):
        yes, no = _asked(value.yes, wanted, nodes), _asked(value.no, wanted, nodes)
        plain = isinstance(value.test, (ir.Name, ir.Attr)) and yes == "" and no is None
        return f" (when `{spelled(value.test)}`)" if plain else None
    if isinstance(value, ir.Attr):
        defaults = [one for one in sorted(wanted) if any(_is_option(node, value.name, one) for node in nodes)]
        default = next(iter(defaults), None)
        return f" (when `{spelled(value)}` is {default}, its default)" if default is not None else None
    if isinstance(value, ir.Name):
        sets = (node for node in nodes if isinstance(node, (ir.Assign, ir.Augment)))
        bound = [node for node in sets if value.name in binds(node.target)]
        one = bound[0].value if len(bound) == 1 and isinstance(bound[0], ir.Assign) else None
        return _asked(one, wanted, nodes) if not isinstance(one, ir.Name) else None
    return "" if isinstance(value, ir.Const) and value.value in wanted else None


def _is_option(node: object, name: str, default: str) -> bool:
    """Whether a call declares an option of a command line by a name, with a default."""
    if not isinstance(node, ir.Call) or last(node.func) != "add_argument" or not node.args:
        return False
    said, given = node.args[0], dict(node.keywords).get("default")
    spells = isinstance(said, ir.Const) and str(said.value).lstrip("-").replace("-", "_") == name
    return spells and isinstance(given, ir.Const) and given.value == default


def _may_be_saved(nodes: list[object], holding: Holding, made: Collection[ir.Call], public: Mapping[str, str]) -> bool:
    """Whether anything may save the scaler: it is spoken of, the framework saves all that it holds, or the object is
    handed to what saves."""
    bound = (node for node in nodes if isinstance(node, ir.Assign) and node.value in made and not holding.fixed)
    names = {name for node in bound for name in binds(node.target)}
    for node in nodes:
        if isinstance(node, (ir.Name, ir.Attr)):
            if not holding.saves.isdisjoint((node.name, public_name(node, public))) or speaks_of_scaler(node.name):
                return True
        if isinstance(node, ir.Const) and speaks_of_scaler(node.value):
            return True
        if isinstance(node, ir.Call) and keeps(last(node.func)):
            handed = (*node.args, *node.starred, *(value for _, value in node.keywords))
            if any(last(value) in names for value in handed):
                return True
    return False
