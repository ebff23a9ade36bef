"""What a file takes from its neighbours: the definitions that can matter to its training step, from file to file.

Only names that the file uses are followed, and only so far: a chain of files ends after DEPTH of them, a program at
MAX_FILES. What is not followed stays the public name that it is, and a function that says no word of training is known
to do nothing to what it is handed.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from amplint.flow import program as ir
from amplint.lower import keepers
from amplint.lower.names import binds, walk
from amplint.lower.statements import Statements
from amplint.lower.written_elsewhere import as_written
from amplint.source.asked import Answers, once
from amplint.source.definitions import Outline, at_a_glance, handed_on, is_quiet, outline, reduced, worth_following
from amplint.source.neighbours import resolved
from amplint.source.parse import parse
from amplint.source.reading import Unparsable, Unreadable
from amplint.source.scout import check_brackets

DEPTH = 4
MAX_FILES = 24
MAX_ROWS = 3000
"""Rows of all definitions that one file takes from its neighbours."""

_HOPS = 4  # re-exports from file to file

Body = tuple[ir.Stmt, ...]
Reference = tuple[str, str]
"""A file and a qualified name as it is written there; or a file and a name that it defines."""


@dataclass
class Neighbours:
    """The bodies of the neighbouring files, where each reference leads, and the references to quiet functions."""

    bodies: dict[str, Body] = field(default_factory=dict)
    links: dict[Reference, Reference] = field(default_factory=dict)
    quiet: set[Reference] = field(default_factory=set)


def neighbours_of(path: str, body: Body) -> Neighbours:
    """All that a file takes from its neighbours."""
    found = Neighbours()
    wanted: dict[str, set[str]] = {}
    bodies, keeping = {path: body}, frozenset[str]()
    for _ in range(DEPTH):
        asked = {file: set(names) for file, names in wanted.items()}
        for importer, statements in bodies.items():
            keeping |= keepers.handed(statements)
            _ask(found, importer, statements, wanted, keeping)
        changed = [file for file, names in wanted.items() if names != asked.get(file) and file != path]
        bodies = {}
        for file in changed[:MAX_FILES]:
            taken = _taken(file, wanted[file], keeping)
            if taken is not None and _fits(found, file):
                found.bodies[file] = bodies[file] = taken
    found.links = {here: there for here, there in found.links.items() if there[0] in found.bodies}
    return found


def _fits(found: Neighbours, file: str) -> bool:
    """Whether another file may still be taken in."""
    return file in found.bodies or len(found.bodies) < MAX_FILES


def _ask(found: Neighbours, importer: str, body: Body, wanted: dict[str, set[str]], handed: frozenset[str]) -> None:
    """Adds where the names lead that a body uses, and what its neighbours are therefore asked for. `handed`: the
    methods that a loss is handed to."""
    uses = _uses(body)
    for qualified, base in uses.items():
        if (importer, qualified) in found.links:
            continue
        target = _target(importer, qualified, _HOPS, base, handed)
        if isinstance(target, bool):
            found.quiet |= {(importer, qualified)} if target else set()
            continue
        file, name, outlined = target
        if worth_following(outlined, name, base, handed):
            wanted.setdefault(file, set()).add(name)
            found.links[importer, qualified] = (file, name)
        elif is_quiet(outlined, name):
            found.quiet.add((importer, qualified))
    for qualified in _changed(body):
        found.links.pop((importer, qualified), None)


Target = tuple[str, str, Outline] | bool
"""A file, the name in it and its outline; or that there is nothing to follow (True: it does nothing)."""


def _target(importer: str, qualified: str, hops: int, base: bool, handed: frozenset[str]) -> Target:
    """The file that defines what a name means exactly, through re-exports."""
    place = resolved(importer, qualified)
    if place is None or len(place[1]) != 1 or not hops:
        return False
    file, (name,) = place
    known = at_a_glance(file, name, base, handed)
    if known is not None:
        return known
    found = outline(file)
    if found is None:
        return False
    if name not in found.names:
        every = [
            target
            for module in found.stars
            if (target := _target(file, f"{module}{'' if module.endswith('.') else '.'}{name}", hops - 1, base, handed))
        ]
        return every[0] if len(every) == 1 else False
    other = handed_on(found, name)
    return (file, name, found) if other is None else _target(file, other, hops - 1, base, handed)


def function_of(importer: str, qualified: str, hops: int = _HOPS) -> ir.Function | None:
    """The function of a neighbouring file that a name means, None if there is no one such function."""
    place = resolved(importer, qualified)
    found = outline(place[0]) if place is not None and len(place[1]) == 1 and hops else None
    if place is None or found is None:
        return None
    file, (name,) = place
    other = handed_on(found, name)
    if other is not None:
        return function_of(file, other, hops - 1)
    taken = _taken(file, {name}) if len(found.names.get(name, ())) == 1 else None
    return next((node for node in taken or () if isinstance(node, ir.Function) and node.name == name), None)


def _taken(file: str, names: set[str], handed: frozenset[str] = frozenset()) -> Body | None:
    """The lowered definitions of a file, None if they cannot be read.

    Kept by the file and the names, for as long as all that was asked for them stays so, until MOST_TAKEN others were
    asked for: the files of a project take the same things from the same neighbours.
    """
    key = file, os.getcwd(), frozenset(names), handed
    return once(_TAKEN, key, MOST_TAKEN, lambda: _taken_now(file, names, handed))


MOST_TAKEN = 256
_TAKEN: dict[tuple[str, str, frozenset[str], frozenset[str]], tuple[Answers, Body | None]] = {}


def _taken_now(file: str, names: set[str], handed: frozenset[str]) -> Body | None:
    found = outline(file)
    if found is None:
        return None
    text = reduced(found, sorted(names), handed)
    if sum(1 for line in text.splitlines() if line.strip()) > MAX_ROWS:
        return None
    try:
        check_brackets(text)
        return as_written(file, Statements(parse(text)).module())
    except (Unparsable, Unreadable):
        return None


def _uses(body: Body) -> dict[str, bool]:
    """The qualified names that a body uses, and whether as the base of a class."""
    names = _imported(body)
    found: dict[str, bool] = {}
    bases: set[int] = set()
    for statement in body:
        for node in walk(statement):
            if isinstance(node, ir.Class):
                bases |= {id(base) for base in node.bases}
            if isinstance(node, (ir.Name, ir.Attr)):
                for qualified in _qualified(node, names):
                    found[qualified] = found.get(qualified, False) or id(node) in bases
    return found


def _changed(body: Body) -> Iterator[str]:
    """The qualified names that a body assigns: `config.N = 4`."""
    names = _imported(body)
    for statement in body:
        for node in walk(statement):
            if isinstance(node, (ir.Assign, ir.Augment)) and isinstance(node.target, ir.Attr):
                yield from _qualified(node.target, names)


def _imported(body: Body) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for statement in body:
        for node in walk(statement):
            if isinstance(node, ir.Import):
                found.setdefault(node.name, []).append(node.qualified)
    return found


def _qualified(node: ir.Expr, names: dict[str, list[str]]) -> list[str]:
    """The qualified names that an expression may spell; more than one if an import has an alternative."""
    if isinstance(node, ir.Name):
        return names.get(node.name, [])
    if isinstance(node, ir.Attr):
        return [f"{owner}.{node.name}" for owner in _qualified(node.owner, names)]
    return []


def used_by(taken: Neighbours) -> frozenset[str]:
    """The qualified names that are used in what a file takes from its neighbours."""
    return frozenset(name for body in taken.bodies.values() for name in _uses(body))


def by_their_names(taken: Neighbours, body: Body) -> Iterator[ir.Stmt]:
    """The statements of neighbours, and their functions and classes again by every name that they are called by.

    What is called through its module (`engine.train(...)`) looks like a method.
    """
    found: list[ir.Stmt] = []
    called = {file: _bound_names(statements) for file, statements in taken.bodies.items()}
    own = _bound_names(body) if taken.links else {}
    for (file, qualified), (other, name) in taken.links.items():
        aliases = called.get(file, own).get(qualified, set())
        for node in taken.bodies[other]:
            if isinstance(node, (ir.Function, ir.Class)) and node.name == name:
                found += [node, *(replace(node, name=alias) for alias in sorted(aliases - {name}))]
    for statements in taken.bodies.values():
        yield from statements
    yield from found
    yield ir.Class(ir.NOWHERE, "", (), tuple(node for node in found if isinstance(node, ir.Function)))


def _bound_names(body: Body) -> dict[str, set[str]]:
    """The names that imports bind, by the qualified name."""
    found: dict[str, set[str]] = {}
    for statement in body:
        for node in walk(statement):
            if isinstance(node, ir.Import):
                found.setdefault(node.qualified, set()).add(node.name)
    return found


def constants_of(taken: Neighbours) -> frozenset[str]:
    """The names that a program takes from its neighbours and that are no functions or classes."""
    made = {
        (file, target)
        for file, statements in taken.bodies.items()
        for node in statements
        if isinstance(node, ir.Assign)
        for target in binds(node.target)
    }
    return frozenset(name for file, name in taken.links.values() if (file, name) in made)


def is_idle(body: Body, name: str) -> bool:
    """Whether a function has nothing in it that matters."""
    return any(isinstance(node, ir.Function) and node.name == name and not node.body for node in body)
