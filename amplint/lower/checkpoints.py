"""What a module saves and loads beside the model: facts for the rules about checkpoints.

They are of the whole file, insensitive to flow. Whatever may save or load a scaler in another way (a function that is
handed it, a list of objects, attributes by name) makes the file one of which nothing is said.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from amplint.dialects import GOVERNS
from amplint.dialects import vocabulary as words
from amplint.dialects.public import SCALERS, SEEN, computes
from amplint.dialects.syntax import LEAVES_SAVING
from amplint.dialects.vocabulary import within
from amplint.flow import program as ir
from amplint.lower.names import binds, calls, children, last, walk
from amplint.lower.scaler_conditions import condition
from amplint.lower.scalers_elsewhere import Inherited, called_elsewhere, calling, inherited, steppers
from amplint.protocol.events import Site
from amplint.protocol.facts import LOADED, SAVED, Fact

_SAVES = within(words.SAVING)
keeps = within(words.SAVING, words.RESTORING, words.STATE)
"""Whether what is called so may keep what it is handed, or bring it back."""
_OPTIMIZER, _SCALER_WORD = within(words.OPTIMIZER), within(words.SCALER)
_CLASSES = frozenset(name.rpartition(".")[2] for name in SCALERS)
"""What scalers of torch's are called."""


def checkpoint_facts(path: str, body: tuple[ir.Stmt, ...]) -> Iterator[Fact]:
    """At most one fact of a save and one of a load, where torch's scaler is in use and its state is known to be left
    out."""
    nodes = [node for statement in body for node in walk(statement)]
    above = inherited(path, nodes) if any(map(_is_of_scaler, nodes)) else []
    whole = (*body, *(node for one in above for node in one.body))
    every = [*nodes, *(node for one in above for node in one.nodes)]
    scalers = _scalers(every)
    apart = _apart(every, body, scalers) if scalers else set()
    if not scalers or not _all_seen(path, every, scalers, apart) or _renewed(whole, scalers):
        return
    mentioned = {node.name for node in every if isinstance(node, ir.Attr) and last(node.owner) in scalers}
    saves, loads = "state_dict" in mentioned, "load_state_dict" in mentioned
    if not saves and not any(isinstance(node, ir.Const) and speaks_of_scaler(node.value) for node in every):
        own = sorted(optimizers_saved(body)) or sorted(_saves_elsewhere(path, nodes))
        own = [place for place in own if not _is_early(body, place, _public(every))]
        for place, where in [(place, "") for place in own] or _saved_above(nodes, above, scalers):
            yield Fact(SAVED, Site(path, *place), {**_LEFT_OUT, "when": where or _condition(whole, every, place)})
            break
    if saves and not loads:
        for call in optimizers_loaded(nodes):
            yield Fact(LOADED, Site(path, *call.at), {**_LEFT_OUT})
            break


def _is_early(body: tuple[ir.Stmt, ...], place: ir.Span, public: set[str]) -> bool:
    """Whether the innermost function around a place makes its scalers behind it: what is saved there has not been
    trained."""
    inside = ([node for statement in block for node in walk(statement)] for block in blocks(body))
    around = [nodes for nodes in inside if any(getattr(node, "at", None) == place for node in nodes)]
    innermost = min(around, key=len, default=[])
    made = [node.at for node in innermost if isinstance(node, ir.Call) and _makes(node, public)]
    return bool(made) and place < min(made)


def _is_of_scaler(node: object) -> bool:
    """Whether a scaler is made, or something that is called one is stepped."""
    if not isinstance(node, ir.Call):
        return False
    stepped = isinstance(node.func, ir.Attr) and node.func.name == "step" and _SCALER_WORD(last(node.func.owner))
    return stepped or last(node.func) in _CLASSES


def _all_seen(path: str, nodes: list[object], scalers: set[str], apart: set[int]) -> bool:
    """Whether some scalers are stepped, here or by functions that are handed them, and nothing may save them out of
    sight. `apart`: what cannot."""
    if _kept_elsewhere([node for node in nodes if id(node) not in apart], scalers):
        return False
    if _stepped(nodes, scalers):
        return True
    functions = [(list(walk(function)), name) for function, name in steppers(path, nodes, scalers)]
    return bool(functions) and not any(_keeps_state(inside, name) for inside, name in functions)


def _keeps_state(nodes: list[object], name: str) -> bool:
    """Whether a function may keep the state of a scaler that it is handed by a name."""
    asked = (node for node in nodes if isinstance(node, ir.Attr) and last(node.owner) == name)
    return any(node.name == "state_dict" for node in asked) or _kept_elsewhere(nodes, {name})


def _saved_above(nodes: list[object], above: list[Inherited], scalers: set[str]) -> Iterator[tuple[ir.Span, str]]:
    """Where a method of a class of another file is called that saves an optimizer's state, and what a message says of
    it; not where that file steps the scalers itself, and is told."""
    if any(_stepped(one.nodes, scalers) for one in above):
        return
    for one in above:
        for call in calling(nodes, one.body, lambda body: any(optimizers_saved(body))):
            yield call.at, f" (in `{os.path.basename(one.file)}`)"


def _scalers(nodes: list[object]) -> set[str]:
    """The names of torch's scalers that are made here and that may be enabled; none where a framework is at work."""
    imports = [node for node in nodes if isinstance(node, ir.Import)]
    roots = {node.qualified.lstrip(".").partition(".")[0] for node in imports}
    if roots & (GOVERNS - LEAVES_SAVING) or any(isinstance(node, ir.Class) and node.name in _CLASSES for node in nodes):
        return set()
    public = _public(nodes)
    made = {
        name
        for node in nodes
        if isinstance(node, ir.Assign)
        and any(isinstance(part, ir.Call) and _makes(part, public) for part in walk(node.value))
        for name in binds(node.target)
    }
    while more := {name for node in nodes for name in _aliases(node, made)} - made:
        made |= more
    return made


_LEFT_OUT: Mapping[int | str, object] = MappingProxyType({"optimizer": True, "scaler": False})


def _public(nodes: list[object]) -> set[str]:
    """The names by which something public goes that computes with tensors."""
    imports = (node for node in nodes if isinstance(node, ir.Import))
    return {*SEEN, *(node.name for node in imports if computes(node.qualified))}


def _condition(body: tuple[ir.Stmt, ...], nodes: list[object], place: ir.Span) -> str:
    """Under which condition there is a scaler, as a message names it; empty if there always is."""
    public = _public(nodes)
    return condition(body, lambda node: isinstance(node, ir.Call) and _makes(node, public), place)


def _makes(call: ir.Call, public: set[str]) -> bool:
    root: ir.Expr = call.func
    while isinstance(root, ir.Attr):
        root = root.owner
    off = any(name == "enabled" and isinstance(value, ir.Const) and not value.value for name, value in call.keywords)
    return last(call.func) in _CLASSES and isinstance(root, ir.Name) and root.name in public and not off


def _aliases(node: object, known: set[str]) -> set[str]:
    """The other names that a statement gives to a scaler, by assignment or as an argument."""
    if isinstance(node, ir.Assign) and _is_one_of(node.value, known):
        return binds(node.target)
    if isinstance(node, ir.Call):
        return {name for name, value in node.keywords if _is_one_of(value, known)}
    return set()


def _stepped(nodes: list[object], scalers: set[str]) -> bool:
    return any(_calls(nodes, "step", lambda owner: owner in scalers))


def _renewed(body: Iterable[ir.Stmt], scalers: set[str]) -> bool:
    """Whether a scaler is made anew in the loop around the one that steps it, or around a call of what steps it: there
    is no state to be resumed."""
    made: list[tuple[int, ...]] = []
    stepped: list[tuple[int, ...]] = []
    waiting: list[tuple[object, tuple[int, ...]]] = [(node, ()) for node in body]
    while waiting:
        node, loops = waiting.pop()
        if isinstance(node, ir.Assign) and binds(node.target) & scalers and _CLASSES & calls(node.value):
            made.append(loops)
        if isinstance(node, ir.Call) and any(_calls([node], "step", lambda owner: owner in scalers)):
            stepped.append(loops)
        inner = (*loops, id(node)) if isinstance(node, (ir.For, ir.While)) else loops
        waiting += [(child, () if isinstance(node, ir.Function) else inner) for child in children(node)]
    return bool(made) and all(place and any(one[:-1] == place or not one for one in stepped) for place in made)


def _kept_elsewhere(nodes: list[object], scalers: set[str]) -> bool:
    """Whether something is handed a scaler, or an object that holds it, and may keep its state."""
    holding, unpacked = scalers | _holders(nodes, scalers), _unpacked(nodes)
    picked = _picked(nodes, holding)
    for node in nodes:
        if isinstance(node, (ir.Display, ir.Mapping, ir.Comprehension)) and id(node) not in unpacked:
            if _holds(node, scalers, holding):
                return True
        if isinstance(node, ir.Text) and any(_looks_up(node.text, name) for name in holding):
            return True
        if isinstance(node, ir.Attr) and node.name == "__dict__" and _is_one_of(node.owner, holding):
            return True
        if isinstance(node, ir.Call):
            name, handed = last(node.func), (*node.args, *(value for _, value in node.keywords))
            named = len(node.args) > 1 and isinstance(node.args[1], ir.Const)
            if (
                id(node) not in picked
                and name in _BY_NAME
                and not named
                and (not node.args or _is_one_of(node.args[0], holding))
            ):
                return True
            if keeps(name) and any(_is_one_of(value, holding) for value in (*handed, *node.starred)):
                return True
    return False


def _picked(nodes: list[object], holding: set[str]) -> set[int]:
    """The calls in comprehensions over names that are written out, of which none is one of those that hold a scaler."""
    found: set[int] = set()
    for node in nodes:
        if isinstance(node, ir.Comprehension) and isinstance(node.source, ir.Display):
            names = {item.value for item in node.source.items if isinstance(item, ir.Const)}
            if len(names) == len(node.source.items) and not names & holding:
                found |= {id(part) for part in walk(node) if isinstance(part, ir.Call)}
    return found


def _unpacked(nodes: list[object]) -> set[int]:
    """The tuples that hold nothing for long: what values are unpacked into, and what functions return of which every
    call is unpacked."""
    taken = [node for node in nodes if isinstance(node, ir.Assign) and isinstance(node.target, ir.Display)]
    targets = {id(node.target) for node in taken}
    called = Counter(_called(node.func) for node in nodes if isinstance(node, ir.Call))
    spread = Counter(_called(call.func) for node in taken if isinstance(call := node.value, ir.Call))
    methods = {id(one) for node in nodes if isinstance(node, ir.Class) for one in node.body}
    functions = [(one, (one.name, id(one) in methods)) for one in nodes if isinstance(one, ir.Function)]
    own = [one for one, key in functions if called[key] == spread[key] > 0]
    returned = (part.value for one in own for part in walk(one) if isinstance(part, ir.Return))
    return targets | {id(value) for value in returned if isinstance(value, ir.Display) and value.kind == "tuple"}


def _called(func: ir.Expr) -> tuple[str, bool]:
    """By which name a function is called, and whether as a method."""
    return last(func), isinstance(func, ir.Attr)


def _apart(nodes: list[object], body: Iterable[ir.Stmt], scalers: set[str]) -> set[int]:
    """What no scaler can be looked up in: classes that neither hold one nor are kin to one that does, and the module's
    own statements before any is made."""
    classes = [node for node in nodes if isinstance(node, ir.Class)]
    inside = {id(one): list(walk(one)) for one in classes}
    holding = {one.name for one in classes if any(_names_scaler(node, scalers) for node in inside[id(one)])}
    kin = [(one.name, last(base)) for one in classes for base in one.bases]
    while more := {name for pair in kin if holding & {*pair} for name in pair} - holding:
        holding |= more
    found = {id(node) for one in classes if one.name not in holding for node in inside[id(one)]}
    public = _public(nodes)
    for statement in body:
        parts = list(walk(statement))
        if any(isinstance(part, ir.Call) and _makes(part, public) for part in parts):
            break
        if not any(isinstance(part, (ir.Function, ir.Class)) for part in parts):
            found |= {id(part) for part in parts}
    return found


def _names_scaler(node: object, scalers: set[str]) -> bool:
    return isinstance(node, ir.Attr) and node.name in scalers


def _looks_up(text: str, holder: str) -> bool:
    """Whether an expression of which only the text is known looks up what an object holds."""
    return f"{holder}.__dict__" in text or any(f"{name}({holder}" in text for name in _BY_NAME)


_BY_NAME = frozenset({"vars", "getattr", "globals", "locals"})


def _holders(nodes: list[object], scalers: set[str]) -> set[str]:
    """The names of the objects that have a scaler as an attribute."""
    targets = [node.target for node in nodes if isinstance(node, ir.Assign) and isinstance(node.target, ir.Attr)]
    return {last(target.owner) for target in targets if target.name in scalers} - {""}


def _holds(node: ir.Display | ir.Mapping | ir.Comprehension, scalers: set[str], holding: set[str]) -> bool:
    """Whether a display holds a scaler, or all that an object holds which has one."""
    if isinstance(node, ir.Display):
        return any(_is_one_of(item, scalers) for item in node.items)
    if isinstance(node, ir.Mapping):
        return any(_is_one_of(value, holding if key is None else scalers) for key, value in node.items)
    return _is_one_of(node.source, scalers)


def _is_one_of(node: ir.Expr, names: set[str]) -> bool:
    """Whether a value goes by one of some names, though perhaps in one case only."""
    if isinstance(node, ir.Choice):
        return _is_one_of(node.yes, names) or _is_one_of(node.no, names)
    if isinstance(node, ir.Logic):
        return node.op != "not" and any(_is_one_of(part, names) for part in node.parts)
    return isinstance(node, (ir.Name, ir.Attr)) and last(node) in names


def speaks_of_scaler(value: object) -> bool:
    """Whether a value is a short text that speaks of a scaler: a key, or a name."""
    return isinstance(value, str) and len(value) < 40 and _SCALER_WORD(value)


def _is_optimizer(name: str) -> bool:
    return _OPTIMIZER(name)


def _calls(nodes: list[object], method: str, of: Callable[[str], bool]) -> Iterator[ir.Call]:
    for node in nodes:
        if isinstance(node, ir.Call) and isinstance(node.func, ir.Attr) and node.func.name == method:
            if of(last(node.func.owner)):
                yield node


@dataclass(frozen=True)
class _Held:
    """A name that holds an optimizer's state, and where it was given."""

    name: str
    at: ir.Span


def optimizers_loaded(nodes: list[object]) -> Iterator[ir.Call]:
    """The calls that give an optimizer a state."""
    return _calls(nodes, "load_state_dict", _is_optimizer)


def optimizers_saved(body: tuple[ir.Stmt, ...]) -> Iterator[ir.Span]:
    """Where an optimizer's state is saved: the call that is handed it; of a function of another file that is handed a
    dict with it, the dict, whose contents are all that this file says."""
    for block in blocks(body):
        held: list[_Held] = []
        for node in (part for statement in block for part in walk(statement)):
            if isinstance(node, ir.Assign) and _has_state(node.value):
                at = node.at if isinstance(node.target, ir.Item) else node.value.at
                target = node.target.owner if isinstance(node.target, ir.Item) else node.target
                held.append(_Held(last(target), at))
            elif isinstance(node, ir.Call) and _SAVES(last(node.func)):
                handed = (*node.args, *(value for _, value in node.keywords))
                if any(_has_state(value) for value in handed):
                    yield node.at
                own = last(node.func) == "save"
                yield from (
                    node.at if own else one.at for one in held if any(_is_made_of(value, one.name) for value in handed)
                )


def _is_made_of(value: ir.Expr, name: str) -> bool:
    """Whether a value is what has a name, or what functions have made of it."""
    if isinstance(value, ir.Call):
        return any(_is_made_of(inner, name) for inner in (*value.args, *(inner for _, inner in value.keywords)))
    return last(value) == name


def _saves_elsewhere(path: str, nodes: list[object]) -> Iterator[ir.Span]:
    """The calls that hand an optimizer to a function or a method of a neighbouring file which saves the state of what
    it is handed."""
    for node, function in called_elsewhere(path, nodes, _SAVES):
        handed = (*node.args, *(value for _, value in node.keywords))
        takes = any(_is_optimizer(param.name) for param in function.params)
        if takes and any(_is_optimizer(last(value)) for value in handed) and any(optimizers_saved((function,))):
            yield node.at


def blocks(body: tuple[ir.Stmt, ...]) -> Iterator[tuple[ir.Stmt, ...]]:
    """The module and its functions, each with all that is inside it."""
    yield tuple(node for node in body if not isinstance(node, (ir.Function, ir.Class)))
    for statement in body:
        yield from (node.body for node in walk(statement) if isinstance(node, ir.Function))


def _has_state(value: ir.Expr) -> bool:
    """Whether a value is an optimizer's state or a dict with it."""
    if isinstance(value, ir.Mapping):
        return any(_has_state(inner) for _, inner in value.items)
    if isinstance(value, ir.Call) and last(value.func) == "dict":
        return any(_has_state(inner) for _, inner in value.keywords)
    return any(_calls([value], "state_dict", _is_optimizer))
