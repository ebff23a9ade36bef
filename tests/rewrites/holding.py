"""Settings and losses are held by something, and the criterion by a class of the program's own."""

from __future__ import annotations

import ast

from tests.rewrites.events import called, places
from tests.rewrites.extraction import every_module
from tests.rewrites.scopes import Scope, bound, inner, magical, parameters, scopes, uses, within
from tests.rewrites.writing import Program, Rewrite, after_imports, expression, fresh, name, statements


def settings(holder: str) -> Rewrite:
    """The numbers that the module is set with stand in a dict, a namespace, a dataclass, a class, or another module."""

    def rewrite(program: Program) -> bool:
        tree = program.tree
        found = _constants(tree)
        if magical(tree) or not found or not program.alone:
            return False
        box = "settings" if holder == "module" else fresh(tree, "settings")
        if holder == "module" and (box in program.beside or box in every_module(tree) or fresh(tree, box) != box):
            return False
        at = min(tree.body.index(one) for one in found.values())
        values = {key: ast.unparse(one.value) for key, one in found.items()}
        first = next(iter(found.values()))
        for one in found.values():
            tree.body.remove(one)
        _read_as(tree, {key: f"{box}['{key}']" if holder == "dict" else f"{box}.{key}" for key in found})
        tree.body[at:at] = statements(_holder(tree, holder, box, values), first)
        if holder == "dataclass":
            tree.body[after_imports(tree) : after_imports(tree)] = statements("import dataclasses")
        if holder == "namespace":
            tree.body[after_imports(tree) : after_imports(tree)] = statements("import types")
        if holder == "module":
            program.beside["settings"] = ast.parse("\n".join(f"{key} = {value}" for key, value in values.items()))
        return True

    return rewrite


def _holder(tree: ast.Module, holder: str, box: str, values: dict[str, str]) -> str:
    if holder == "module":
        return f"import {box}"
    if holder == "dict":
        return f"{box} = {{{', '.join(f'{key!r}: {value}' for key, value in values.items())}}}"
    if holder == "namespace":
        return f"{box} = types.SimpleNamespace({', '.join(f'{key}={value}' for key, value in values.items())})"
    made = fresh(tree, "Settings")
    if holder == "dataclass":
        fields = "\n".join(
            f"    {key}: {'float' if '.' in value else 'int'} = {value}" for key, value in values.items()
        )
        return f"@dataclasses.dataclass\nclass {made}:\n{fields}\n{box} = {made}()"
    fields = "\n".join(f"    {key} = {value}" for key, value in values.items())
    return f"class {made}:\n{fields}\n{box} = {made}"


def _constants(tree: ast.Module) -> dict[str, ast.Assign]:
    """The names that the module sets once, to a number, and that nothing else is called."""
    found: dict[str, ast.Assign] = {}
    taken = {one for scope in scopes(tree)[1:] for one in (*parameters(scope), *bound(scope.body))}
    taken |= {each for one in ast.walk(tree) if isinstance(one, ast.Lambda) for each in parameters(one)}
    taken |= {each for one in ast.walk(tree) if isinstance(one, ast.ClassDef) for each in bound(one.body)}
    for one in tree.body:
        if not (isinstance(one, ast.Assign) and len(one.targets) == 1 and isinstance(one.targets[0], ast.Name)):
            continue
        key = one.targets[0].id
        number = isinstance(one.value, ast.Constant) and type(one.value.value) in (int, float)
        stores = [node for node in uses(tree, key) if not isinstance(node.ctx, ast.Load)]
        if number and key not in taken and len(stores) == 1 and len(uses(tree, key)) > 1 and not key.startswith("_"):
            found[key] = one
    return found


def _read_as(tree: ast.AST, by: dict[str, str]) -> None:
    class Reading(ast.NodeTransformer):
        def visit_Name(self, node: ast.Name) -> ast.expr:
            return expression(by[node.id]) if node.id in by else node

    Reading().visit(tree)


def loss(holder: str) -> Rewrite:
    """The loss stands in a dict, or in a tuple."""

    def rewrite(program: Program) -> bool:
        tree = program.tree
        if magical(tree):
            return False
        for scope in scopes(tree):
            for key in sorted(_losses(scope)):
                if _held(scope, key, fresh(tree, "found"), holder):
                    return True
        return False

    return rewrite


def _losses(scope: Scope) -> set[str]:
    """The names that something goes back from."""
    return {
        part.id
        for node in within(scope.body)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "backward"
        for given in (node.func.value, *node.args)
        for part in ast.walk(given)
        if isinstance(part, ast.Name) and part.id in bound(scope.body)
    }


def _held(scope: Scope, key: str, box: str, holder: str) -> bool:
    """Whether every place where a scope knows a name could be put into what holds it, and was."""
    if not isinstance(scope, ast.Module) and key in parameters(scope):
        return False
    if any(isinstance(node, ast.Name) and node.id == key for node in inner(scope.body)):
        return False
    stores = [
        node
        for node in within(scope.body)
        if isinstance(node, ast.Name) and node.id == key and not isinstance(node.ctx, ast.Load)
    ]
    plain = {id(one.targets[0]) for one in within(scope.body) if isinstance(one, ast.Assign) and len(one.targets) == 1}
    raised = {id(one.target) for one in within(scope.body) if isinstance(one, ast.AugAssign)}
    if not stores or any(id(node) not in plain | raised for node in stores):
        return False
    taken = f"{box}['{key}']" if holder == "dict" else f"{box}[0]"
    for node in list(within(scope.body)):
        if isinstance(node, ast.AugAssign) and id(node.target) in {id(one) for one in stores} and holder == "tuple":
            return False
    _Holding(key, box, taken, holder).visit_scope(scope)
    return True


class _Holding(ast.NodeTransformer):
    """Puts a name into what holds it, within one scope."""

    def __init__(self, key: str, box: str, taken: str, holder: str):
        self.key, self.box, self.taken, self.holder = key, box, taken, holder

    def visit_scope(self, scope: Scope) -> None:
        scope.body = [self.visit(one) for one in scope.body]

    def visit_Assign(self, node: ast.Assign) -> ast.stmt:
        node.value = self.visit(node.value)
        (*_, target) = node.targets
        if len(node.targets) == 1 and isinstance(target, ast.Name) and target.id == self.key:
            held = (
                ast.Dict([ast.Constant(self.key)], [node.value])
                if self.holder == "dict"
                else ast.Tuple([node.value, ast.Constant(0)], ast.Load())
            )
            node.targets, node.value = [name(self.box, True)], held
        else:
            node.targets = [self.visit(one) for one in node.targets]
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        if node.id != self.key:
            return node
        made = expression(self.taken)
        if isinstance(made, ast.Subscript):
            made.ctx = node.ctx
        return made

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.stmt:
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.stmt:
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.stmt:
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.expr:
        return node


_CRITERION = """
class {0}(nn.Module):
    def __init__(self, inner, weight=1.0):
        super().__init__()
        self.inner = inner
        self.weight = weight

    def forward(self, output, target):
        return self.weight * self.inner(output, target)
"""


def criterion_class(program: Program) -> bool:
    """The criterion is a class of the program's own, with an argument, that asks torch's."""
    tree = program.tree
    losses = set(_CRITERIA)
    imported = any(
        isinstance(one, ast.ImportFrom)
        and one.module == "torch"
        and any(a.name == "nn" and not a.asname for a in one.names)
        for one in tree.body
    )
    if not imported:
        return False
    for _, block in places(tree):
        for one in block:
            if (
                isinstance(one, ast.Assign)
                and isinstance(one.value, ast.Call)
                and called(one.value) & losses
                and isinstance(one.value.func, (ast.Attribute, ast.Name))
            ):
                if not ast.unparse(one.value.func).startswith(("nn.", "torch.nn.")) or any(
                    k.arg == "reduction" for k in one.value.keywords
                ):
                    continue
                made = fresh(tree, "Weighted")
                one.value = ast.Call(name(made), [one.value], [ast.keyword("weight", ast.Constant(1.0))])
                top = next(i for i, each in enumerate(tree.body) if any(node is one for node in ast.walk(each)))
                tree.body[top:top] = statements(_CRITERION.format(made), one)
                return True
    return False


_CRITERIA = ("CrossEntropyLoss", "MSELoss", "L1Loss", "NLLLoss", "BCEWithLogitsLoss", "SmoothL1Loss")


def loss_function(program: Program) -> bool:
    """The loss is what a function returns that is given the criterion, the output and the target."""
    tree = program.tree
    if magical(tree):
        return False
    for _, block in places(tree):
        for one in block:
            value = one.value if isinstance(one, ast.Assign) else None
            calls = [node for node in ast.walk(value) if isinstance(node, ast.Call)] if value else []
            for call in calls:
                if ast.unparse(call.func) != "criterion" or len(call.args) != 2 or call.keywords:
                    continue
                if any(isinstance(arg, ast.Starred) for arg in call.args):
                    continue
                made = fresh(tree, "loss_of")
                call.args = [call.func, *call.args]
                call.func = name(made)
                top = next(i for i, each in enumerate(tree.body) if any(node is one for node in ast.walk(each)))
                text = (
                    f"def {made}(criterion, output, target):\n    value = criterion(output, target)\n    return value"
                )
                tree.body[top:top] = statements(text, one)
                return True
    return False
