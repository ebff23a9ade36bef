"""Who imports whom: read from the import statements, or seen in a fresh interpreter."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

Rooms = Mapping[str, Collection[str]]


@dataclass(frozen=True)
class Arrow:
    """One import: the module that imports, the dotted name that is imported, and the line."""

    importer: str
    imported: str
    row: int

    def __str__(self) -> str:
        return f"{self.importer}:{self.row} imports {self.imported}"


def modules(root: Path, package: str) -> dict[str, Path]:
    """Every module of a package below `root`, by dotted name."""
    return {_dotted(root, path): path for path in sorted((root / package).rglob("*.py"))}


def _dotted(root: Path, path: Path) -> str:
    parts = path.relative_to(root).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def arrows(root: Path, package: str) -> Iterator[Arrow]:
    """Every import statement of a package, those inside functions and under TYPE_CHECKING included."""
    for name, path in modules(root, package).items():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                yield from (Arrow(name, alias.name, node.lineno) for alias in node.names)
            elif isinstance(node, ast.ImportFrom):
                origin = _origin(name, node, is_package=path.name == "__init__.py")
                yield from (Arrow(name, f"{origin}.{alias.name}", node.lineno) for alias in node.names)


def put_off(root: Path, package: str) -> list[Arrow]:
    """The imports of a package's own modules that are put off until a function runs."""
    found = []
    for name, path in modules(root, package).items():
        for function in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(function, (ast.FunctionDef, ast.AsyncFunctionDef)):
                late = (node for node in ast.walk(function) if isinstance(node, ast.ImportFrom))
                found += [Arrow(name, str(node.module), node.lineno) for node in late]
    return [arrow for arrow in found if _below(arrow.imported, package.replace("/", ".").partition(".")[0])]


def circles(root: Path, package: str) -> list[list[str]]:
    """The modules of a package that import one another in a circle, imports for the type checker aside."""
    names = modules(root, package)
    graph: dict[str, set[str]] = {}
    for name, path in names.items():
        tree = ast.parse(path.read_text(encoding="utf-8"))
        typed = {id(node) for one in ast.walk(tree) if _is_for_types(one) for node in ast.walk(one)}
        graph[name] = {
            found
            for node in ast.walk(tree)
            if isinstance(node, ast.ImportFrom) and id(node) not in typed
            for alias in node.names
            if (found := _module(names, str(node.module), alias.name))
        }
    sorter = TopologicalSorter(graph)
    try:
        sorter.prepare()
    except CycleError as circle:
        return [circle.args[1]]
    return []


def _module(names: Collection[str], origin: str, name: str) -> str:
    """The module that `from origin import name` takes: one of that name, or else the origin; empty if it is neither."""
    return next((found for found in (f"{origin}.{name}", origin) if found in names), "")


def _is_for_types(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING"


def _origin(importer: str, node: ast.ImportFrom, is_package: bool) -> str:
    """The absolute name of the module that a `from ... import` takes from."""
    if not node.level:
        return node.module or ""
    parts = importer.split(".")
    anchor = parts[: len(parts) - node.level + is_package]
    return ".".join([*anchor, *([node.module] if node.module else [])])


def forbidden(root: Path, package: str, library: str, homes: Collection[str] = ()) -> list[Arrow]:
    """The imports of a library outside the modules, or packages, that are its homes."""
    return [
        arrow
        for arrow in arrows(root, package)
        if _below(arrow.imported, library) and not any(_below(arrow.importer, home) for home in homes)
    ]


def astray(root: Path, package: str, rooms: Rooms) -> list[Arrow]:
    """The imports inside `package` from one room to another that `rooms` does not allow.

    `rooms` maps a room, relative to the package, to the rooms (or single modules of rooms) that it may import.
    A room that is not in the table may import nothing.
    """
    inside = (arrow for arrow in arrows(root, package) if _below(arrow.imported, package))
    return [arrow for arrow in inside if not _allowed(arrow, package, rooms)]


def _allowed(arrow: Arrow, package: str, rooms: Rooms) -> bool:
    room = _room(arrow.importer, package)
    targets = (f"{package}.{target}" for target in (room, *rooms.get(room, ())))
    return any(_below(arrow.imported, target) for target in targets)


def _room(module: str, package: str) -> str:
    """The first part of a module's name below its package; empty for the package itself."""
    return module.removeprefix(package).lstrip(".").partition(".")[0]


def _below(name: str, ancestor: str) -> bool:
    return name == ancestor or name.startswith(f"{ancestor}.")


def loaded_by(statement: str, root: Path) -> set[str]:
    """The modules that a fresh interpreter has loaded after running a statement, packages found in `root` first.

    Raises AssertionError with the interpreter's own words when the statement fails.
    """
    program = f"import json, sys\n{statement}\nprint('\\n' + json.dumps(sorted(sys.modules)))"
    environment = {**os.environ, "PYTHONPATH": str(root)}
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, cwd=root, env=environment)
    assert done.returncode == 0, done.stderr
    return set(json.loads(done.stdout.splitlines()[-1]))


def loaded_with(names: Collection[str], root: Path) -> set[str]:
    """The modules that a fresh interpreter has loaded after importing every module named."""
    return loaded_by(f"import importlib\nfor name in {sorted(names)!r}: importlib.import_module(name)", root)
