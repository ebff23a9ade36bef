"""The step, the clip, the backward pass, the gate or the whole micro-step stands in a function, and is called."""

from __future__ import annotations

import ast
import copy
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from tests.rewrites.events import CLIPS, STEPS, gates, loops, places, runs
from tests.rewrites.scopes import Part, Scope, bound, loaded, magical, parameters, part, within
from tests.rewrites.writing import Block, Program, after_imports, expression, fresh, name, statements, stood

Found = Iterator[Part | None]
Finder = Callable[[ast.Module], Found]


def step(tree: ast.Module) -> Found:
    """Every row of events that an optimizer, a scheduler or a scaler steps in."""
    return _rows(tree, STEPS)


def clip(tree: ast.Module) -> Found:
    """Every clip, alone."""
    for scope, block in places(tree):
        for start, stop in runs(block, CLIPS):
            for at in range(start, stop):
                if any(True for _ in runs([block[at]], CLIPS)):
                    yield part(tree, scope, block, at, at + 1)


def back(tree: ast.Module) -> Found:
    """Every row of events that something goes back in."""
    return _rows(tree, frozenset({"backward"}))


def _rows(tree: ast.Module, kinds: frozenset[str]) -> Found:
    for scope, block in places(tree):
        for start, stop in runs(block, kinds):
            yield part(tree, scope, block, start, stop)


def gated(tree: ast.Module) -> Found:
    """Every `if` that an optimizer steps under, with all that stands in it."""
    for scope, block, at in gates(tree):
        yield part(tree, scope, block, at, at + 1)


def micro_step(tree: ast.Module) -> Found:
    """What the innermost training loop does in a turn."""
    found = [one.body for _, block, at in loops(tree) if isinstance(one := block[at], ast.For)]
    for (scope, _block, _at), body in zip(loops(tree), found, strict=True):
        if not any(other is not body and _in(other, body) for other in found):
            yield part(tree, scope, body, 0, len(body))


def _in(inner: Block, outer: Block) -> bool:
    return any(inner[0] is node for one in outer for node in ast.walk(one))


@dataclass(frozen=True)
class Made:
    """A function that was made of a part: its name, what its parameters take, and how it is called."""

    part: Part
    called: str
    function: ast.FunctionDef

    def call(self, function: str, given: list[str], keywords: bool = False) -> ast.stmt:
        """The statement that calls it and takes back what it gives."""
        call = ast.Call(
            expression(function),
            [] if keywords else [name(one) for one in given],
            [ast.keyword(one, name(one)) for one in given] if keywords else [],
        )
        gives = self.part.gives
        made: ast.stmt = ast.Expr(call)
        if gives:
            target = (
                name(gives[0], True) if len(gives) == 1 else ast.Tuple([name(one, True) for one in gives], ast.Store())
            )
            made = ast.Assign([target], call)
        stood(self.part.body[0], made)
        return made


def _made(tree: ast.Module, found: Part, called: str, takes: list[str]) -> Made:
    body = copy.deepcopy(found.body)
    if found.gives:
        given = (
            ast.Tuple([name(one) for one in found.gives], ast.Load()) if len(found.gives) > 1 else name(found.gives[0])
        )
        body.append(ast.Return(given))
        stood(found.body[-1], body[-1])
    function = statements(f"def {called}({', '.join(takes)}):\n    pass", found.body[0])[0]
    assert isinstance(function, ast.FunctionDef)
    function.body = body
    return Made(found, called, function)


def _put(found: Part, call: ast.stmt) -> None:
    found.block[found.start : found.stop] = [call]


def _first(tree: ast.Module, finder: Finder) -> Part | None:
    """The first part that can be taken out. One is taken at a time: places move when a tree is changed."""
    if magical(tree):
        return None
    return next((one for one in finder(tree) if one is not None), None)


def _holds(node: ast.AST, block: Block) -> bool:
    return any(value is block for each in ast.walk(node) for _, value in ast.iter_fields(each))


def _outermost(found: Part) -> int:
    """The place, in the body of its scope, of the statement that the part stands in."""
    body = found.scope.body
    if body is found.block:
        return found.start
    return next(i for i, one in enumerate(body) if _holds(one, found.block))


def _steady(tree: ast.Module, found: Part) -> list[str] | None:
    """What a part takes that is bound once and for all before the outermost statement around it; None if unclear."""
    at = _outermost(found)
    before, around = found.scope.body[:at], found.scope.body[at:]
    known = bound(before)
    if not isinstance(found.scope, ast.Module):
        known |= set(parameters(found.scope)) | (bound(tree.body) - bound(found.scope.body))
    return [one for one in found.takes if one in known and one not in bound(around)]


def function(finder: Finder, called: str, keywords: bool = False) -> Callable[[Program], bool]:
    """A function of the module that takes what it needs, by place or by keyword."""

    def rewrite(program: Program) -> bool:
        found = _first(program.tree, finder)
        if found is None:
            return False
        made = _made(program.tree, found, fresh(program.tree, called), list(found.takes))
        scope, at = found.scope, _outermost(found)
        of_module = scope.body is program.tree.body
        _put(found, made.call(made.called, list(found.takes), keywords))
        program.tree.body.insert(_module_place(program.tree, scope, at if of_module else None), made.function)
        return True

    return rewrite


def closure(finder: Finder, called: str) -> Callable[[Program], bool]:
    """A function inside of the function that the part stands in, which takes nothing."""

    def rewrite(program: Program) -> bool:
        found = _first(program.tree, finder)
        if found is None or found.gives or set(found.takes) & bound(found.body):
            return False
        made = _made(program.tree, found, fresh(program.tree, called), [])
        scope, at = found.scope, _outermost(found)
        call = made.call(made.called, [])
        _put(found, call)
        scope.body.insert(at, made.function)
        return True

    return rewrite


def method(finder: Finder, called: str, holder: str) -> Callable[[Program], bool]:
    """A method of an object that holds what does not change while the loop runs."""

    def rewrite(program: Program) -> bool:
        found = _first(program.tree, finder)
        if found is None or not (held := _steady(program.tree, found)) or set(held) & bound(found.body):
            return False
        tree = program.tree
        owner, me = fresh(tree, holder.capitalize()), fresh(tree, "me")
        passed = [one for one in found.takes if one not in held]
        fields = {one: one if one != "self" else fresh(tree, "owner") for one in held}
        made = _made(tree, found, fresh(tree, called), [me, *passed])
        _replace(made.function.body, {one: f"{me}.{field}" for one, field in fields.items()})
        sets = "".join(f"        {me}.{field} = {field}\n" for field in fields.values())
        text = f"class {owner}:\n    def __init__({', '.join([me, *fields.values()])}):\n{sets}"
        (made_class,) = statements(text, found.body[0])
        assert isinstance(made_class, ast.ClassDef)
        made_class.body.append(made.function)
        object_name = fresh(tree, holder)
        call = made.call(f"{object_name}.{made.called}", passed)
        creation = statements(f"{object_name} = {owner}({', '.join(held)})", found.body[0])
        at, scope = _outermost(found), found.scope
        body_of_module = scope.body is tree.body
        _put(found, call)
        scope.body[at:at] = creation
        tree.body.insert(_module_place(tree, scope, at if body_of_module else None), made_class)
        return True

    return rewrite


def _module_place(tree: ast.Module, scope: Scope, at: int | None) -> int:
    """Where a definition stands that a scope uses: before the statement of the module that holds it."""
    if at is not None:
        return at
    return next(i for i, one in enumerate(tree.body) if any(node is scope for node in ast.walk(one)))


def _replace(body: Block, by: dict[str, str]) -> None:
    """Replaces names that are read by expressions."""

    class Replacing(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return expression(by[node.id]) if node.id in by else node

    for i, one in enumerate(body):
        body[i] = Replacing().visit(one)


def partial(finder: Finder, called: str) -> Callable[[Program], bool]:
    """A function of the module, of which `functools.partial` knows beforehand what does not change."""

    def rewrite(program: Program) -> bool:
        found = _first(program.tree, finder)
        if found is None or not (held := _steady(program.tree, found)) or set(held) & bound(found.body):
            return False
        tree = program.tree
        passed = [one for one in found.takes if one not in held]
        made = _made(tree, found, fresh(tree, called), [*held, *passed])
        ready, library = fresh(tree, f"ready_{called}"), fresh(tree, "functools")
        imported = "import functools" if library == "functools" else f"import functools as {library}"
        scope, at = found.scope, _outermost(found)
        of_module = scope.body is tree.body
        _put(found, made.call(ready, passed))
        text = f"{ready} = {library}.partial({', '.join([made.called, *held])})"
        scope.body[at:at] = statements(text, found.body[0])
        tree.body.insert(_module_place(tree, scope, at if of_module else None), made.function)
        tree.body[after_imports(tree) : after_imports(tree)] = statements(imported)
        return True

    return rewrite


def dataclass_holder(program: Program) -> bool:
    """The step takes one dataclass that holds what it needs."""
    found = _first(program.tree, step)
    if found is None or not (held := _steady(program.tree, found)) or "self" in held or set(held) & bound(found.body):
        return False
    tree = program.tree
    owner, parts, called = fresh(tree, "Parts"), fresh(tree, "parts"), fresh(tree, "advance")
    passed = [one for one in found.takes if one not in held]
    made = _made(tree, found, called, [parts, *passed])
    _replace(made.function.body, {one: f"{parts}.{one}" for one in held})
    decorator = fresh(tree, "dataclass")
    text = f"@{decorator}\nclass {owner}:\n" + "".join(f"    {one}: object\n" for one in held)
    scope, at = found.scope, _outermost(found)
    of_module = scope.body is tree.body
    _put(found, made.call(called, [parts, *passed]))
    scope.body[at:at] = statements(f"{parts} = {owner}({', '.join(held)})", found.body[0])
    place = _module_place(tree, scope, at if of_module else None)
    tree.body[place:place] = [*statements(text, found.body[0]), made.function]
    alias = "" if decorator == "dataclass" else f" as {decorator}"
    tree.body[after_imports(tree) : after_imports(tree)] = statements(f"from dataclasses import dataclass{alias}")
    return True


def another_file(finder: Finder, called: str, file: str) -> Callable[[Program], bool]:
    """A function in a file beside this one."""

    def rewrite(program: Program) -> bool:
        tree = program.tree
        found = _first(tree, finder)
        needed = _imports(tree, found) if found is not None else None
        if found is None or needed is None or file in program.beside or file in every_module(tree):
            return False
        own = loaded(found.body) & (bound(tree.body) - bound(needed)) - set(found.takes) - bound(found.body)
        takes = [*found.takes, *sorted(own)]
        made = _made(tree, found, fresh(tree, called), takes)
        _put(found, made.call(made.called, takes))
        relative = any(isinstance(one, ast.ImportFrom) and one.level for one in tree.body)
        text = f"from {'.' if relative else ''}{file} import {made.called}"
        tree.body[after_imports(tree) : after_imports(tree)] = statements(text)
        program.beside[file] = ast.Module([*copy.deepcopy(needed), made.function], [])
        return True

    return rewrite


def every_module(tree: ast.Module) -> set[str]:
    """The names of all modules that a module imports."""
    found = {one.module or "" for one in ast.walk(tree) if isinstance(one, ast.ImportFrom)}
    return found | {each.name for one in ast.walk(tree) if isinstance(one, ast.Import) for each in one.names}


def _imports(tree: ast.Module, found: Part) -> list[ast.stmt] | None:
    """The imports of the module that a part needs; None if something that it needs is imported elsewhere."""
    every = [one for one in tree.body if isinstance(one, (ast.Import, ast.ImportFrom))]
    needed = [one for one in every if bound([one]) & loaded(found.body)]
    hidden = {id(one) for one in every}
    others = [
        one
        for one in within(found.scope.body)
        if isinstance(one, (ast.Import, ast.ImportFrom)) and id(one) not in hidden
    ]
    return None if bound(others) & loaded(found.body) else needed


def gate(called: str, as_lambda: bool = False) -> Callable[[Program], bool]:
    """The test of the gate is what a function returns."""

    def rewrite(program: Program) -> bool:
        tree = program.tree
        if magical(tree):
            return False
        for scope, block, at in gates(tree):
            gate = block[at]
            assert isinstance(gate, ast.If)
            if isinstance(gate.test, (ast.Name, ast.Constant)) or any(
                isinstance(n, (ast.NamedExpr, ast.Await)) for n in ast.walk(gate.test)
            ):
                continue
            found = part(tree, scope, [ast.Expr(gate.test)], 0, 1)
            if found is None:
                continue
            takes, made = found.takes, fresh(tree, called)
            text = (
                f"{made} = lambda {', '.join(takes)}: 0"
                if as_lambda
                else f"def {made}({', '.join(takes)}):\n    return 0"
            )
            (definition,) = statements(text, gate)
            if isinstance(definition, ast.FunctionDef):
                definition.body = [ast.Return(gate.test)]
            elif isinstance(definition, ast.Assign) and isinstance(definition.value, ast.Lambda):
                definition.value.body = gate.test
            stood(gate, definition)
            gate.test = ast.Call(name(made), [name(one) for one in takes], [])
            top = next(i for i, one in enumerate(tree.body) if any(node is gate for node in ast.walk(one)))
            tree.body.insert(top, definition)
            return True
        return False

    return rewrite
