"""Which names an expression reads and a statement binds. Attributes go by their last part: `self.a` is `a`."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields, replace

from amplint.dialects import vocabulary as words
from amplint.dialects.schedules import BY_HAND, HORIZONS
from amplint.dialects.syntax import LOADED_AS, THROUGH
from amplint.dialects.vocabulary import ending, within
from amplint.flow import program as ir


class _Parts(dict[type, tuple[str, ...]]):
    """The fields of a type of node that can hold nodes, by their annotations."""

    def __missing__(self, kind: type) -> tuple[str, ...]:
        found = tuple(part.name for part in fields(kind) if any(one in str(part.type) for one in _HOLDS))
        self[kind] = found
        return found


_PARTS = _Parts()
_HOLDS = ("Expr", "Stmt", "Param")


def children(node: object) -> list[object]:
    """The nodes directly inside a node, in source order."""
    found: list[object] = []
    for name in _PARTS[type(node)]:
        value = getattr(node, name)
        if type(value) is tuple:
            _gather(value, found)
        elif value is not None:
            found.append(value)
    return found


def with_parts(part: object, change: Callable[[object], object]) -> object:
    """A node, or a tuple of such, with what a change makes of each of its parts; itself where none becomes another."""
    if isinstance(part, tuple):
        made = tuple(change(one) for one in part)
        return made if any(new is not old for new, old in zip(made, part, strict=True)) else part
    if not isinstance(part, _NODES):
        return part
    held = ((field.name, getattr(part, field.name)) for field in fields(part))
    changed = {name: new for name, old in held if (new := change(old)) is not old}
    return replace(part, **changed) if changed else part  # type: ignore[arg-type]  # the fields of a node


def _gather(values: tuple[object, ...], found: list[object]) -> None:
    """Adds the nodes in a field: one after the other, or in pairs with a name or with another node."""
    for value in values:
        if type(value) is tuple:
            _gather(value, found)
        elif isinstance(value, _NODES):
            found.append(value)


_NODES = (ir.Node, ir.Param)


def walk(node: object) -> tuple[object, ...]:
    """A node and everything inside it, functions included, in source order.

    That of a statement is kept by the statement itself, until so many others were asked about: every pass over a module
    asks for it.
    """
    if type(node) not in _STATEMENTS:
        return _walked(node)
    known = _WALKED.get(id(node))
    if known is None:
        if len(_WALKED) >= MOST_WALKED:
            _WALKED.clear()
        known = _WALKED[id(node)] = _walked(node)  # it begins with the node, which therefore keeps its identity
    return known


_HOLDING = frozenset({ir.If, ir.For, ir.While, ir.With, ir.Try})
_STATEMENTS = frozenset(ir.STATEMENTS)
MOST_WALKED = 8192
_WALKED: dict[int, tuple[object, ...]] = {}


def _walked(node: object) -> tuple[object, ...]:
    found: list[object] = []
    _add(node, found)
    return tuple(found)


def _add(node: object, found: list[object]) -> None:
    """Adds a node and everything inside it. It is written out, for nothing else is done as often in a reading."""
    found.append(node)
    for name in _PARTS[type(node)]:
        value = getattr(node, name)
        if type(value) is tuple:
            _add_all(value, found)
        elif value is not None:
            _add(value, found)


def _add_all(values: tuple[object, ...], found: list[object]) -> None:
    for value in values:
        if isinstance(value, _NODES):
            _add(value, found)
        elif type(value) is tuple:
            _add_all(value, found)


def says(node: object, truth: bool) -> bool:
    """Whether something is the literal True, or False."""
    return isinstance(node, ir.Const) and node.value is truth


def last(node: object) -> str:
    """The last part of a name: `b` of `a.b`, `a` of `a[0]`; empty for what has no name."""
    if isinstance(node, (ir.Name, ir.Attr)):
        return node.name
    if isinstance(node, ir.Item):
        return last(node.owner)
    return ""


def dotted(node: object) -> str:
    """A name with all that it is an attribute of, `a.b.c`; empty for anything else."""
    if isinstance(node, ir.Attr):
        return f"{inner}.{node.name}" if (inner := dotted(node.owner)) else ""
    return node.name if isinstance(node, ir.Name) else ""


def imports(nodes: Iterable[object]) -> dict[str, str]:
    """The names that imports bind, wherever they stand, each with the public name that it stands for."""
    return {node.name: node.qualified for node in nodes if isinstance(node, ir.Import)}


def public_name(node: object, imported: Mapping[str, str]) -> str:
    """What an expression spells by such names; empty where no import binds its first one."""
    root, dot, rest = dotted(node).partition(".")
    return f"{imported[root]}{dot}{rest}" if root in imported else ""


_SHARDS = within(words.SHARDS)


def speaks_of_shards(names: Iterable[str]) -> bool:
    """Whether any name says that a model is, or may be, sharded."""
    return any(map(_SHARDS, names))


def reads(node: object) -> set[str]:
    """Every name and attribute that occurs in an expression."""
    return {part.name for part in walk(node) if isinstance(part, (ir.Name, ir.Attr))}


_THROUGH = frozenset(
    """abs bool cat ceil concat cycle div divmod enumerate filter float floor getattr int islice iter len list max mean
    min mul next partial range reversed round scale sorted stack step sum tuple vars zip backward unscale_ update
    enter_context""".split()
) | {BY_HAND, *THROUGH}
RATE = "lr"
"""What torch's optimizers call their rate, which may be divided by the window in place of the loss."""
_TOLD = frozenset({RATE, *LOADED_AS})
_CRITERION = ending(words.CRITERION, words.CRITERION_ITSELF, "cross_entropy", "cross_entropy_with_logits")
_MAKERS = ("Scaler", "LR", "schedule", "scheduler", "Scheduler", "warmup", "restarts", "Loss", "Plateau")


def matters(node: object, known: frozenset[str], whole: bool = False) -> set[str]:
    """The names that decide what an expression is worth to the training step.

    What is handed to a function that is not of the module (`known`) does not: a loss is a loss, whatever the batch. It
    does (`whole`) where there are several models, and one may be given what another returned.
    """
    found: set[str] = set()
    stack = [node]
    while stack:
        part = stack.pop()
        if isinstance(part, (ir.Name, ir.Attr)):
            found.add(part.name)
        if isinstance(part, ir.Call):
            name = last(part.func)
            through = whole or name in _THROUGH or name in known or name.endswith(_MAKERS) or _CRITERION(name)
            through = through or isinstance(part.func, ir.Item) or not HORIZONS.isdisjoint(dict(part.keywords))
            handed = (*part.args, *(value for _, value in part.keywords), *part.starred)
            told = tuple(value for key, value in part.keywords if key in _TOLD)
            stack += [part.func, *(handed if through else told)]
        else:
            stack += children(part)
    return found


def binds(target: object) -> set[str]:
    """The names that an assignment to `target` binds or changes."""
    if isinstance(target, ir.Display):
        return {name for item in target.items for name in binds(item)}
    if isinstance(target, ir.Item) and last(target.owner) in ("__dict__", ""):
        return reads(target.owner) - {"__dict__", "vars"}  # `vars(state)["k"]`
    if isinstance(target, ir.Text) and target.text.startswith("*"):
        return {target.text[1:]}  # what takes the rest
    name = last(target)
    return {name} if name else set()


_COMMON = frozenset(
    """train eval step update zero_grad backward to cuda cpu forward parameters state_dict load_state_dict get add
    run""".split()
)


_CALLS = frozenset({"spawn", "callback"})
"""Functions that call what they are handed, or have it called: `torch.multiprocessing.spawn`, `ExitStack.callback`."""


def reaches(node: object, driven: frozenset[str] = frozenset()) -> set[str]:
    """What the calls inside a node may reach: `f` for a function called by its name, `.f` for a method.

    A method that every torch object has (`model.train()`) is one of the module's own only on `self`, or on what is
    known to have one of its own (`driven`: `trainer.train`); what runs for so many epochs trains.
    """
    found: set[str] = set()
    for part in walk(node):
        if not isinstance(part, ir.Call):
            continue
        if part.args and last(part.func) in _CALLS:
            found |= {last(part.args[0])} - {""}  # `mp.spawn(f, ...)` calls f
        if isinstance(part.func, ir.Name):
            found.add(part.func.name)
        elif isinstance(part.func, ir.Attr):
            owner = part.func.owner
            own = isinstance(owner, ir.Name) and owner.name in ("self", "cls")
            own = own or (isinstance(owner, ir.Call) and last(owner.func) == "super")
            own = own or f"{_owner(owner)}.{part.func.name}" in driven
            if own or part.func.name not in _COMMON or any("epoch" in name for name, _ in part.keywords if name):
                found.add(f".{part.func.name}")
    return found


def _owner(node: ir.Expr) -> str:
    """What a method is called on: a name, or a class that is called for it."""
    return f"{last(node.func)}()" if isinstance(node, ir.Call) else last(node)


def functions(body: Iterable[ir.Stmt], method: bool = False) -> Iterator[tuple[str, ir.Function]]:
    """Every function inside a body, with the name by which `reaches` speaks of it."""
    for node in body:
        if isinstance(node, ir.Function):
            yield (f".{node.name}" if method else node.name), node
            yield from functions(node.body)
        elif isinstance(node, ir.Class):
            yield from functions(node.body, method=True)
        else:
            inner = children(node) if type(node) in _HOLDING else []
            held = [child for child in inner if isinstance(child, ir.STATEMENTS)]
            yield from functions(held, method)  # type: ignore[arg-type]  # statements


def calls(node: object) -> set[str]:
    """The last names of everything that is called inside a node; a class called counts by its name."""
    return {last(part.func) for part in walk(node) if isinstance(part, ir.Call)} - {""}


def suites(node: ir.If | ir.For | ir.While | ir.With | ir.Try) -> tuple[ir.Stmt, ...]:
    """All statements directly inside a compound statement."""
    if isinstance(node, ir.Try):
        return (*node.body, *(child for handler in node.handlers for child in handler), *node.orelse, *node.final)
    return (*node.body, *(() if isinstance(node, ir.With) else node.orelse))
