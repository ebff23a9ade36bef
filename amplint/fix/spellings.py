"""How what a message names can be written at a place of the program."""

from __future__ import annotations

import libcst as cst

from amplint.fix.code import Code, every


def spellings(code: Code, name: str, near: cst.CSTNode) -> set[str]:
    """How a name, or an attribute of that name, is written in the function of a node; in a method that does not speak
    of it, as the attribute of its object that its class sets."""
    function = code.function(near)
    words = [one for one in every(function) if isinstance(one, cst.Name | cst.Attribute)]
    labels = {id(one.attr) for one in words if isinstance(one, cst.Attribute)}
    written = {code.source(one) for one in words if id(one) not in labels}
    return {text for text in written if text == name or text.endswith(f".{name}")} or _own(code, name, function)


def _own(code: Code, said: str, function: cst.CSTNode) -> set[str]:
    name = said.removeprefix("self.")
    klass = next((one for one in code.above(function) if isinstance(one, cst.ClassDef)), None)
    if klass is None or not isinstance(function, cst.FunctionDef) or not name.isidentifier():
        return set()
    if code.parents[code.parents[function]] is not klass or _first(function) != "self":
        return set()
    own = f"self.{name}"
    targets = [one.target for one in every(klass) if isinstance(one, cst.AssignTarget | cst.AnnAssign)]
    return {own} if {code.source(one) for one in targets} & {own, *_of_the_class(klass, name)} else set()


def _of_the_class(klass: cst.ClassDef, name: str) -> set[str]:
    """The name itself, if the class sets it in its body."""
    lines = [line for line in klass.body.body if isinstance(line, cst.SimpleStatementLine)]
    targets = [one for line in lines for part in line.body for one in every(part)]
    found = [one.target for one in targets if isinstance(one, cst.AssignTarget | cst.AnnAssign)]
    return {name} if any(isinstance(one, cst.Name) and one.value == name for one in found) else set()


def _first(function: cst.FunctionDef) -> str:
    return next((param.name.value for param in function.params.params), "")
