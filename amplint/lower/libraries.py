"""What the frameworks that a module uses do to the training step: their small programs, read once in a process."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence, Set
from dataclasses import fields, replace
from functools import cache
from pathlib import Path

from amplint import dialects
from amplint.dialects.dialect import Dialect
from amplint.flow import program as ir
from amplint.lower.deeds import Deeds
from amplint.lower.names import last, walk
from amplint.lower.prune import Surroundings, whole
from amplint.lower.statements import Statements
from amplint.source.configured import configured
from amplint.source.parse import parse

_TORCHES = frozenset({"__init__", ".__init__", ".step", ".zero_grad", ".backward"})
"""Names that torch's objects have too: what is called so is judged by what it is called on."""
_FOLDER = Path(dialects.__file__).parent


def surroundings_of(
    path: str,
    text: str,
    body: tuple[ir.Stmt, ...],
    taught: Sequence[Dialect] = (),
    beside: Set[str] = frozenset(),
) -> Surroundings:
    """The libraries that a module imports, or whose objects it names; `taught`: those of a configuration, first.
    `beside`: the public names that are used in what it takes from its neighbours."""
    told = [*taught, *(dialect for dialect in dialects.DIALECTS if dialect.behaviour)]
    packages = {name.partition(".")[0] for name in _imported(body)}
    names = _named(body) if told else set()
    says = names | packages | {name.partition(".")[0] for name in beside}
    shaped = {dialect.name: _shaped(dialect, body) for dialect in told if dialect.shape and _says(dialect, says)}
    shaped |= {dialect.name: _called(dialect, body) for dialect in told if dialect.called}
    objects = {name for dialect in told if dialect.called for name in shaped[dialect.name]}
    used = [
        dialect
        for dialect in told
        if (_packages(dialect) & packages and (not dialect.needs or dialect.needs & names))
        or dialect.adopts.keys() & names
        or dialect.defines.keys() & beside
        or shaped.get(dialect.name)
    ]
    objects |= {name for dialect in used for name, klass in dialect.adopts.items() if _calls(dialect, klass)} & names
    derives = any(isinstance(node, ir.Class) and node.bases for statement in body for node in walk(statement))
    set_so = {dialect.name: _settings(path, text, dialect, names, derives) for dialect in used}
    frameworks = [dialect for dialect in used if dialect.framework]
    made = _together(
        [_adopting(*_library(dialect, set_so[dialect.name]), shaped.get(dialect.name, {})) for dialect in frameworks],
        objects,
    )
    others = tuple(_library(dialect, frozenset())[0] for dialect in used if not dialect.framework)
    return replace(made, stubs=others)


def _calls(dialect: Dialect, klass: str) -> bool:
    """Whether objects of a class in a framework's program are called."""
    body, _ = _read(dialect.behaviour, dialect.program)
    made = next((node for node in body if isinstance(node, ir.Class) and node.name == klass), None)
    return made is not None and any(getattr(child, "name", "") == "__call__" for child in made.body)


def _settings(path: str, text: str, dialect: Dialect, names: set[str], derives: bool) -> frozenset[str]:
    """Those settings of a framework that the project of a file makes, if the file is one that they matter to; it
    `derives` classes, perhaps from one of another file that takes the steps."""
    said = [word.removeprefix("def ").strip(".(") for word in dialect.words]
    matters = dialect.settings and (not said or derives or any(word in names for word in said))
    return configured(path, dialect.settings, text, dialect.unasked) if matters else frozenset()


def _says(dialect: Dialect, names: set[str]) -> bool:
    """Whether a module speaks of a framework in a name of its own: `args.deepspeed_config`."""
    return any(dialect.name in name.lower() for name in names)


def _shaped(dialect: Dialect, body: tuple[ir.Stmt, ...]) -> dict[str, str]:
    """The names that are used as only objects of the framework's class are, and never zeroed in a loop."""
    nodes = [node for statement in body for node in walk(statement)]
    called: dict[str, set[str]] = {}
    for owner, method, usual in _methods_called(nodes):
        if usual:
            called.setdefault(owner, set()).add(method)
    loops = (node for node in nodes if isinstance(node, (ir.For, ir.While)))
    zeroed = {owner for loop in loops for owner, method, _ in _methods_called(walk(loop)) if method == "zero_grad"}
    return {
        name: klass
        for klass, (part, methods) in dialect.shape.items()
        for name, used in called.items()
        if part in name and methods <= used and name not in zeroed
    }


def _called(dialect: Dialect, body: tuple[ir.Stmt, ...]) -> dict[str, str]:
    """The names that are called as only objects of the framework's class are, with the loss and the optimizer first."""
    calls = [node for statement in body for node in walk(statement) if isinstance(node, ir.Call)]
    return {
        last(call.func): klass
        for klass, (part, keywords) in dialect.called.items()
        for call in calls
        if part in last(call.func) and len(call.args) > 1 and keywords <= {name for name, _ in call.keywords}
    }


def _methods_called(nodes: Iterable[object]) -> Iterator[tuple[str, str, bool]]:
    """What each method is called on, and whether it is used as a framework does: a `backward` is handed the loss."""
    for node in nodes:
        if isinstance(node, ir.Call) and isinstance(node.func, ir.Attr) and last(node.func.owner):
            yield last(node.func.owner), node.func.name, node.func.name != "backward" or bool(node.args)


def _adopting(library: ir.Library, deeds: Deeds, names: dict[str, str]) -> tuple[ir.Library, Deeds]:
    return replace(library, adopts=library.adopts | names), deeds


def _together(found: list[tuple[ir.Library, Deeds]], objects: Iterable[str]) -> Surroundings:
    libraries = tuple(library for library, _ in found)
    deeds = Deeds(
        *(frozenset().union(*(getattr(done, part.name) for _, done in found)) - _TORCHES for part in fields(Deeds))
    )
    nodes = [node for library in libraries for statement in library.body for node in walk(statement)]
    words = {node.name for node in nodes if isinstance(node, (ir.Function, ir.Class))}
    words |= {name.rpartition(".")[2] for library in libraries for name in library.defines}
    return Surroundings(libraries, (), frozenset(words), deeds, frozenset(objects))


def _packages(dialect: Dialect) -> set[str]:
    return {name.partition(".")[0] for name in dialect.defines}


def _imported(body: tuple[ir.Stmt, ...]) -> Iterator[str]:
    nodes = (node for statement in body for node in walk(statement))
    return (node.qualified for node in nodes if isinstance(node, ir.Import))


def _named(body: tuple[ir.Stmt, ...]) -> set[str]:
    nodes = (node for statement in body for node in walk(statement))
    return {node.name for node in nodes if isinstance(node, (ir.Name, ir.Attr, ir.Param, ir.Function))}


def _library(dialect: Dialect, settings: frozenset[str]) -> tuple[ir.Library, Deeds]:
    body, deeds = _read(dialect.behaviour, dialect.program)
    names = (dict(dialect.defines), dict(dialect.adopts), dict(dialect.spelling))
    return ir.Library(dialect.name, body, *names, settings, dialect.framework, dialect.leaves_schedules), deeds


@cache
def _read(file: str, text: str) -> tuple[tuple[ir.Stmt, ...], Deeds]:
    """A small program, and what its functions do."""
    return whole(Statements(parse(text or (_FOLDER / file).read_text(encoding="utf-8"))).module())
