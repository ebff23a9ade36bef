"""Parameters that get no gradients for a while: which statements freeze or thaw a model as a whole, and which nobody
can follow.

`for p in critic.parameters(): p.requires_grad = flag` is told as `critic.parameters().requires_grad_(flag)`; what is
frozen where it is made (`teacher = Net().eval().requires_grad_(False)`) is frozen in the next statement.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import replace

from amplint.dialects import vocabulary as words
from amplint.dialects.methods import RUNS_AS_BEFORE, SWITCHES_GRADIENTS
from amplint.dialects.vocabulary import within
from amplint.flow import program as ir
from amplint.lower.names import binds, functions, last, reads, walk

_FREEZES = within(words.FREEZING)
_FLAG = "requires_grad"
_ALL = frozenset({"parameters", "named_parameters"})
_PLAIN = (ir.Name, ir.Attr)


def as_switches(body: Iterable[ir.Stmt]) -> Iterator[ir.Stmt]:
    """The statements of a block; one that freezes or thaws all parameters of a model is a call of `requires_grad_`."""
    for node in body:
        if isinstance(node, ir.For) and (switch := _of_all(node)) is not None:
            yield switch
        elif isinstance(node, ir.Assign) and isinstance(node.target, _PLAIN):
            yield from _made_so(node, node.target)
        else:
            yield node


def _of_all(loop: ir.For) -> ir.Do | None:
    """The call that does what a loop does to each parameter of a model."""
    source = loop.source
    if not isinstance(source, ir.Call) or not isinstance(source.func, ir.Attr) or source.func.name not in _ALL:
        return None
    each = loop.target.items[-1] if isinstance(loop.target, ir.Display) and loop.target.items else loop.target
    if source.args or source.keywords or loop.orelse or len(loop.body) != 1 or not isinstance(each, ir.Name):
        return None
    flag = _flag(loop.body[0], each.name)
    alike = flag is not None and reads(flag).isdisjoint(binds(loop.target))  # the same for all of them
    every = replace(source, func=replace(source.func, name="parameters"))
    return ir.Do(loop.at, _switch(loop.at, every, flag)) if flag is not None and alike else None


def _flag(node: ir.Stmt, each: str) -> ir.Expr | None:
    """What a statement sets `requires_grad` of a name to; None if it does anything else."""
    if isinstance(node, ir.Assign) and isinstance(node.target, ir.Attr) and node.target.name == _FLAG:
        return node.value if isinstance(node.target.owner, ir.Name) and node.target.owner.name == each else None
    call = node.value if isinstance(node, ir.Do) else None
    if not isinstance(call, ir.Call) or not isinstance(call.func, ir.Attr) or call.func.name != SWITCHES_GRADIENTS:
        return None
    own = isinstance(call.func.owner, ir.Name) and call.func.owner.name == each
    return told_flag(call) if own else None


def told_flag(call: ir.Call) -> ir.Expr:
    """What `requires_grad_` is given: True unless it says otherwise."""
    given = (*call.args, *(value for name, value in call.keywords if name == _FLAG))
    return given[0] if given else ir.Const(call.at, True)


def _switch(at: ir.Span, owner: ir.Expr, flag: ir.Expr) -> ir.Call:
    return ir.Call(at, ir.Attr(at, owner, SWITCHES_GRADIENTS), (flag,), ())


def _made_so(node: ir.Assign, target: ir.Expr) -> Iterator[ir.Stmt]:
    """An assignment, and the switches of what it assigns."""
    value, flags = _without_switches(node.value)
    yield replace(node, value=value) if flags else node
    owner = ir.Call(node.at, ir.Attr(node.at, target, "parameters"), (), ()) if _is_made(value) else target
    for flag in flags:
        yield ir.Do(node.at, _switch(node.at, owner, flag))


def _is_made(value: ir.Expr) -> bool:
    """Whether a chain of methods that return the model begins with an object that a class makes."""
    while isinstance(value, ir.Call) and isinstance(value.func, ir.Attr) and value.func.name in RUNS_AS_BEFORE:
        value = value.func.owner
    return isinstance(value, ir.Call) and last(value.func)[:1].isupper()


def _without_switches(value: ir.Expr) -> tuple[ir.Expr, list[ir.Expr]]:
    """What a chain of methods is called on that return the model, without the calls of `requires_grad_` among them."""
    if not isinstance(value, ir.Call) or not isinstance(value.func, ir.Attr) or value.func.name not in RUNS_AS_BEFORE:
        return value, []
    inner, flags = _without_switches(value.func.owner)
    if value.func.name == SWITCHES_GRADIENTS:
        return inner, [*flags, told_flag(value)]
    return (replace(value, func=replace(value.func, owner=inner)), flags) if flags else (value, [])


def _is_followed(call: ir.Call) -> bool:
    """Whether it is known what a call of `requires_grad_` switches: a name, or all parameters of one."""
    owner = call.func.owner if isinstance(call.func, ir.Attr) else None
    if isinstance(owner, ir.Call) and isinstance(owner.func, ir.Attr) and owner.func.name == "parameters":
        owner = owner.func.owner
    return isinstance(owner, _PLAIN)


def may_freeze(body: tuple[ir.Stmt, ...]) -> bool:
    """Whether something may keep gradients from parameters of which nobody can tell whose they are.

    What is switched for models as a whole is followed where it happens, in functions of the program as well. As long as
    parameters are only thawed, none is frozen.
    """
    own = {key.lstrip(".") for key, _ in functions(body)}
    said = [how for statement in body for node in walk(statement) if (how := _how(node, own)) is not None]
    return "unknown" in said or ("thaws" in said and "freezes" in said)


def _how(node: object, own: set[str]) -> str | None:
    """What a node says of gradients: `freezes` a model as a whole, `thaws` what is not known, does what is `unknown`;
    None if nothing."""
    if isinstance(node, ir.Assign) and isinstance(node.target, ir.Attr):
        if node.target.name == _FLAG:
            return "thaws" if _is_true(node.value) else "unknown"
        return "unknown" if _FREEZES(node.target.name) and last(node.target.owner) != "self" else None
    if isinstance(node, ir.With):
        return "unknown" if _enters_freezing(node.context) else None
    return _called(node, own) if isinstance(node, ir.Call) else None


def _called(node: ir.Call, own: set[str]) -> str | None:
    name = last(node.func)
    if any(keyword == "inputs" for keyword, _ in node.keywords):
        return "unknown"
    if name == SWITCHES_GRADIENTS and isinstance(node.func, ir.Attr):
        true = _is_true(told_flag(node))
        return (None if true else "freezes") if _is_followed(node) else ("thaws" if true else "unknown")
    return "unknown" if _FREEZES(name) and name not in own else None


def _is_true(node: ir.Expr) -> bool:
    return isinstance(node, ir.Const) and node.value is True


def _enters_freezing(context: ir.Expr) -> bool:
    """Whether a block may keep gradients from some parameters: by its name, or that it is for those alone which it is
    handed."""
    if not isinstance(context, ir.Call):
        return _FREEZES(last(context))
    alone = isinstance(context.func, ir.Name) and _is_for_some(context.func.name)
    return alone and bool(context.args) and all(isinstance(arg, _PLAIN) for arg in context.args)


_ALONE = frozenset("only just solely training train learning updating".split())


def _is_for_some(name: str) -> bool:
    """Whether a block is called as if it were for those alone which it is handed: `train_only`, `only(critic)`."""
    said = words.words(name)
    return bool(said) and (said[0] in _ALONE or said[-1] == "only")
