"""Names are spelled anew, or have a second one."""

from __future__ import annotations

import ast
from typing import TypeGuard

from tests.rewrites.events import STEPS, loops
from tests.rewrites.scopes import Scope, bound, loop_names, magical, parameters, scopes, settled
from tests.rewrites.writing import BUILTINS, Program, every_name, fresh, name, statements, stood

_WORDS = "alpha beta gamma delta epsilon zeta eta theta iota kappa mu nu xi pi rho sigma tau phi chi psi omega".split()


def variables(program: Program) -> bool:
    """Everything that is assigned has a name that says nothing."""
    found = {name for scope in scopes(program.tree) for name in bound(scope.body) | loop_names(scope.body)}
    found -= {one for scope in scopes(program.tree) if not isinstance(scope, ast.Module) for one in parameters(scope)}
    return _spelled_anew(program, found)


def arguments(program: Program) -> bool:
    """Parameters have names that say nothing."""
    functions = [one for one in ast.walk(program.tree) if isinstance(one, (ast.FunctionDef, ast.Lambda))]
    return _spelled_anew(program, {one for function in functions for one in parameters(function)} - {"self", "cls"})


def attributes(program: Program) -> bool:
    """What objects of classes of the program hold has names that say nothing."""
    tree = program.tree
    classes = [one for one in ast.walk(tree) if isinstance(one, ast.ClassDef)]
    own = {one.name for one in classes} | {"object", "nn.Module", "torch.nn.Module", "ABC"}
    if magical(tree) or any(ast.unparse(base) not in own for one in classes for base in one.bases):
        return False
    if any(isinstance(one, ast.Name) and one.id in {"setattr", "getattr"} for one in ast.walk(tree)):
        return False
    every = [one for one in ast.walk(tree) if isinstance(one, ast.Attribute)]
    mine = {one.attr for one in every if _of_self(one) and isinstance(one.ctx, ast.Store)}
    foreign = {one.attr for one in every if not _of_self(one)} | _kept_names(tree)
    texts = {one.value for one in ast.walk(tree) if isinstance(one, ast.Constant) and isinstance(one.value, str)}
    defined = {name for one in classes for name in bound(one.body)}
    names = _table(tree, mine - foreign - texts - defined)
    for one in every:
        if _of_self(one):
            one.attr = names.get(one.attr, one.attr)
    return bool(names) and program.alone


def functions(program: Program) -> bool:
    """Functions and classes of the module have names that say nothing."""
    defined = {one.name for one in program.tree.body if isinstance(one, (ast.FunctionDef, ast.ClassDef))}
    return program.alone and _spelled_anew(program, defined, imported=True)


def _of_self(node: ast.Attribute) -> bool:
    return isinstance(node.value, ast.Name) and node.value.id == "self"


def _kept_names(tree: ast.Module) -> set[str]:
    """Names that somebody else gives or asks for: keywords, what classes and imports bind, and the parameters of
    methods that perhaps override another's."""
    keywords = {one.arg for one in ast.walk(tree) if isinstance(one, ast.keyword) and one.arg}
    members = {name for one in ast.walk(tree) if isinstance(one, ast.ClassDef) for name in bound(one.body)}
    imports = [one for one in ast.walk(tree) if isinstance(one, (ast.Import, ast.ImportFrom))]
    classes = [one for one in ast.walk(tree) if isinstance(one, ast.ClassDef) and one.bases]
    return keywords | members | bound(imports) | {arg.arg for one in classes for arg in ast.walk(one) if _is_arg(arg)}


def _is_arg(node: ast.AST) -> TypeGuard[ast.arg]:
    return isinstance(node, ast.arg)


def _table(tree: ast.Module, names: set[str]) -> dict[str, str]:
    known = every_name(tree) | BUILTINS
    free = (f"{word}{number or ''}" for number in range(99) for word in _WORDS)
    return dict(zip(sorted(names), (one for one in free if one not in known), strict=False))


def _spelled_anew(program: Program, names: set[str], imported: bool = False) -> bool:
    tree = program.tree
    public = set() if program.alone else set(bound(tree.body))
    names = {one for one in names if not one.startswith("__")} - _kept_names(tree) - BUILTINS - public
    names -= set() if imported else {one for scope in scopes(tree) for one in _defined(scope)}
    if magical(tree) or not names:
        return False
    table = _table(tree, names)
    for node in ast.walk(tree):
        if isinstance(node, ast.Name):
            node.id = table.get(node.id, node.id)
        elif isinstance(node, ast.arg):
            node.arg = table.get(node.arg, node.arg)
        elif isinstance(node, (ast.ExceptHandler, ast.MatchAs, ast.MatchStar)) and node.name:
            node.name = table.get(node.name, node.name)
        elif imported and isinstance(node, (ast.FunctionDef, ast.ClassDef)) and node in tree.body:
            node.name = table.get(node.name, node.name)
    return True


def _defined(scope: Scope) -> set[str]:
    return {one.name for one in scope.body if isinstance(one, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef))}


def second_names(program: Program) -> bool:
    """What steps has a second name in front of the loop, which the loop uses."""
    tree = program.tree
    if magical(tree):
        return False
    for scope, block, at in loops(tree):
        loop = block[at]
        known = _known_before(tree, scope) - bound([loop]) - settled(tree)
        wanted = sorted({node.func.value.id for node in ast.walk(loop) if _steps(node)} & known)
        if not wanted:
            continue
        aliases = {one: fresh(tree, f"the_{one}") for one in wanted}
        for node in ast.walk(loop):
            if isinstance(node, ast.Name) and node.id in aliases:
                node.id = aliases[node.id]
        block[at:at] = [each for old, new in aliases.items() for each in statements(f"{new} = {old}", loop)]
        return True
    return False


def bound_methods(program: Program) -> bool:
    """The method that steps is taken from its object in front of the loop, and called by a name of its own."""
    tree = program.tree
    if magical(tree):
        return False
    for scope, block, at in loops(tree):
        loop = block[at]
        known = _known_before(tree, scope) - bound([loop]) - settled(tree)
        steps = [node for node in ast.walk(loop) if _steps(node) and node.func.value.id in known]
        if not steps or any(isinstance(node, ast.With) for node in ast.walk(loop)):
            continue
        made = {ast.unparse(one.func): fresh(tree, f"{one.func.value.id}_{one.func.attr}") for one in steps}
        for one in steps:
            one.func = name(made[ast.unparse(one.func)])
        block[at:at] = [each for old, new in made.items() for each in statements(f"{new} = {old}", loop)]
        stood(loop, *block[at : at + len(made)])
        return True
    return False


def _steps(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in STEPS
        and isinstance(node.func.value, ast.Name)
        and node.func.value.id != "self"
    )


def _known_before(tree: ast.Module, scope: Scope) -> set[str]:
    known = bound(scope.body)
    return known if isinstance(scope, ast.Module) else known | set(parameters(scope)) | bound(tree.body)
