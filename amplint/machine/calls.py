"""What a call does: run a function of the program, emit an event, make an object, or return something not known."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from itertools import takewhile
from typing import TypeGuard

from amplint.dialects.constructors import role_of
from amplint.dialects.methods import MOVES, PARSES
from amplint.dialects.unseen import only_reads
from amplint.domains import averages, escaped_schedules, freezing, norms, precision, provenance, ranks, retained_losses
from amplint.flow import program as ir
from amplint.flow.spelling import spelled
from amplint.machine import (
    attributes,
    builtins,
    exit_stacks,
    hidden,
    libraries,
    objects,
    objects_called,
    places,
    public_calls,
    step_methods,
    unknown_calls,
)
from amplint.protocol.events import ANY_LENGTH, Gate, Kind
from amplint.protocol.values import with_changes
from amplint.state import class_members, counting, truths
from amplint.state.blocks import Yielded
from amplint.state.contexts import Builtin, Partial, Stack
from amplint.state.records import as_dict
from amplint.state.run import MAX_DEPTH, Cut, Run
from amplint.state.scopes import Scope
from amplint.state.signals import Returned
from amplint.state.values import (
    Arguments,
    Bound,
    Class,
    Criterion,
    Function,
    Gated,
    Incomplete,
    Instance,
    Keywords,
    Loss,
    Method,
    Origin,
    Public,
    Stream,
    Symbol,
    Value,
    last_part,
    text_of,
)


def call(run: Run, scope: Scope, node: ir.Call) -> Value:
    """The value of a call, with all that it does."""
    if isinstance(node.func, ir.Name) and node.func.name == "super" and scope.find("super") is None:
        return class_members.super_of(scope)
    func = truths.resolve(run, run.evaluate(scope, node.func))
    if func is None:  # it cannot be, so another method has set it
        func = Symbol(spelled(node.func))
    evaluate = run.machine.evaluate
    args = [evaluate(run, scope, arg) for arg in node.args]
    keywords: Keywords = {name: evaluate(run, scope, value) for name, value in node.keywords}
    if node.starred:
        keywords = _unpacked(run, scope, node, func, args, keywords)
    elif isinstance(func, (Function, Method)) and not _fits(func, len(args), keywords):
        raise Cut  # Python raises: in such a run it is another function that is called
    if (model := averages.taken_in(run, node, args)) is not None:
        return averages.update(run, [model], {}, node.at)
    freezing.called(run, scope, node, [*args, *keywords.values()])
    if run.in_batches:
        _out_of_sight(run, scope, node, func)
    return retained_losses.begun(run, invoke(run, func, args, keywords, node.at))


def _fits(func: Function | Method, given: int, keywords: Keywords) -> bool:
    """Whether a function takes so many arguments and these names; of one that is decorated that is not known."""
    node = func.function.node if isinstance(func, Method) else func.node
    if isinstance(node, ir.Function) and node.decorators:
        return True
    given += isinstance(func, Method)
    placed = list(takewhile(lambda param: not param.star, node.params))
    stars = {param.star for param in node.params}
    if given > len(placed) and not stars:
        return False
    needed = [param.name for param in placed[given:] if param.default is None]
    return all(name in keywords for name in needed)


def _unpacked(run: Run, scope: Scope, node: ir.Call, func: Value, args: list[Value], keywords: Keywords) -> Keywords:
    """The named arguments of a call into which something is unpacked; what is known of the others is put among them."""
    rest = [run.evaluate(scope, value) if isinstance(value, _PLAIN) else None for value in node.starred]
    for place, value in reversed(list(zip(node.starred, rest, strict=True))):
        before = sum(arg.at < place.at for arg in node.args)
        args[before:before] = value if isinstance(value, (list, tuple)) else []
        keywords = value | keywords if _are_keywords(value) else keywords
    if all(isinstance(value, (list, tuple)) or _are_whole(value) for value in rest):
        return keywords
    if isinstance(func, Class) and libraries.defines(func):
        return libraries.unknown_arguments(func, keywords)
    return _open(keywords, node, rest)


def _out_of_sight(run: Run, scope: Scope, node: ir.Call, func: Value) -> None:
    """What a call amid the batches may do besides what is seen of it."""
    called = node.func
    if type(func) is Symbol and isinstance(called, ir.Attr) and isinstance(called.owner, _PLAIN):
        if hidden.may_act(func):
            hidden.called(run, run.evaluate(scope, called.owner), func, node.at)
    elif isinstance(func, Bound) and func.owner == Symbol("super()"):
        hidden.called_on(run, scope.instance, func.name, node.at)
    if any(map(hidden.is_everything, (*node.args, *node.starred))) and not only_reads(text_of(func)):
        run.emit(Kind.OPAQUE, node.at)
    if isinstance(called, ir.Call) and getattr(called.func, "name", "") == "getattr":
        written = any(isinstance(name, ir.Const) for name in called.args[1:2])
        for named in () if written else called.args[:1]:
            hidden.called_by_name(run, run.evaluate(scope, named), node.at)


def _open(keywords: Keywords, node: ir.Call, rest: list[Value]) -> Incomplete[str]:
    """The named arguments of a call into which something was unpacked that is not known."""
    found = Incomplete(keywords)
    found.by_name = any(not _are_whole(value) for value in rest[len(rest) - node.named :])
    found.of_batch = any(isinstance(value, Symbol) and value.origin is Origin.DATA for value in rest)
    return found


_PLAIN = (ir.Name, ir.Attr)
"""What is unpacked into a call and can be read without that anything happens."""


def _are_keywords(value: Value) -> TypeGuard[Keywords]:
    return isinstance(value, dict) and all(isinstance(key, str) for key in value)


def _are_whole(value: Value) -> bool:
    return _are_keywords(value) and not isinstance(value, Incomplete)


def invoke(run: Run, func: Value, args: Arguments, keywords: Keywords, at: ir.Span) -> Value:
    """The value of calling a value."""
    if type(func) is Symbol:
        adopted = libraries.adopt(run, func)
        if adopted is not None and isinstance(attributes.read(run, adopted, "__call__"), Method):
            return objects_called.call(run, adopted, args, keywords, at)
        return unknown_calls.call(run, func, args, keywords, at)
    if isinstance(func, Method):
        ranks.behind(run, func, args, at)
        with libraries.standing_in(run, func):
            return _run_function(run, func.function, [func.instance, *args], keywords, at, func.instance)
    if isinstance(func, Function):
        return _run_function(run, func, args, keywords, at, None)
    if isinstance(func, Class):
        return objects.instantiate(run, func, args, keywords, at)
    if isinstance(func, Instance):
        return objects_called.call(run, func, args, keywords, at)
    if isinstance(func, Builtin):
        return builtins.call(run, func.name, args, keywords, at)
    if isinstance(func, Public):
        return public_calls.call(run, func.name, args, keywords, at, func.member)
    if isinstance(func, Bound) and isinstance(func.owner, Stack):
        return exit_stacks.call(run, func.owner, func.name, args, keywords, at)
    if isinstance(func, Bound) and isinstance(func.owner, Class):  # what a library reads its arguments from is not seen
        return objects.instantiate(run, func.owner, [], Incomplete(keywords), at)
    if isinstance(func, Bound):
        escaped_schedules.escape(run, [*args, *keywords.values()] if type(func.owner) is Symbol else ())
        return step_methods.call(run, func, args, keywords, at)
    if isinstance(func, Partial):
        return invoke(run, func.function, [*func.args, *args], func.given(keywords), at)
    if isinstance(func, Criterion):
        return unknown_calls.loss_of(run, func, [*args, *keywords.values()], at)
    if isinstance(func, Symbol):
        return unknown_calls.call(run, func, args, keywords, at)
    return Symbol(f"{text_of(func)}(...)", Origin.OPAQUE)


def _run_function(
    run: Run, function: Function, args: Arguments, keywords: Keywords, at: ir.Span, instance: Value
) -> Value:
    """Runs a function's body and returns what it returns; recursion and irrelevant functions are cut."""
    node = function.node
    name = node.name if isinstance(node, ir.Function) else "lambda"
    if isinstance(node, ir.Function) and node.left_aside:
        return _left_aside(run, name, args, keywords, at, instance)
    unknown_calls.hand_over_if_lost(run, node, args, keywords, at)
    if hidden.dispatches(node):
        return unknown_calls.call(run, Symbol(name), args, keywords, at)
    if len(run.stack) >= MAX_DEPTH or hidden.is_decorated(run, function):
        escaped_schedules.escape(run, [*args, *keywords.values()])
    if run.in_batches and node is not run.began and hidden.is_remade(run, function):
        run.emit(Kind.OPAQUE, at)
        return Symbol(f"{name}(...)", Origin.OPAQUE)
    if run.in_batches and isinstance(node, ir.Function) and node.left_open:
        run.emit(Kind.OPAQUE, at)
    if len(run.stack) >= MAX_DEPTH or _only_looks(node, args):
        if run.in_batches:
            places.handed_over(run, args)
        if isinstance(node, ir.Function) and node.silent and not node.decorators:
            _not_run(run, name, args, keywords, at)
            return None
        lost = _not_run(run, name, args, keywords, at)
        return with_changes(lost, endless=True) if isinstance(node, ir.Function) and node.endless else lost
    scope = bind(run, function, args, keywords, at, instance)
    depth, before, run.windowless = len(run.gates), run.windowless, ""
    try:
        with run.calling(function.scope.outermost().module, at), precision.kept(run):
            precision.decorate(run, function)
            return _result(run, function, scope)
    finally:
        del run.gates[depth:]
        if run.windowless.partition(".")[0] not in scope.names:  # it is of no caller's
            run.executed.add(id(node))
        else:
            run.shortened[id(node)] = run.windowless
        run.windowless = before


def _left_aside(run: Run, name: str, args: Arguments, keywords: Keywords, at: ir.Span, instance: Value) -> Value:
    """What a function returns that says no word of training; it may change what is kept in what it is handed."""
    handed = args[1:] if instance is not None else args
    if run.in_batches:
        places.handed_over(run, [*handed, *keywords.values()])
    text = f"{text_of(instance)}.{name}" if instance is not None else name
    if name in MOVES and instance is not None:
        return instance
    made = unknown_calls.call(run, Symbol(text), handed, keywords, at, quiet=True)
    through = provenance.of([] if only_reads(name) else [*handed, *keywords.values()])
    return with_changes(made, reach=made.reach | through) if isinstance(made, Symbol) else made


def _only_looks(node: ir.Function | ir.Lambda, args: Arguments) -> bool:
    """Whether nothing in a function matters, or only what its name says: it measures the norm of what it is given."""
    if not isinstance(node, ir.Function) or all(isinstance(one, ir.Leave) for one in node.body):
        return isinstance(node, ir.Function)  # one that only raises is left to those who derive from its class
    if node.params and node.params[0].name == "self" and all(_gives_nothing(one) for one in node.body):
        return True  # left to those who derive from the class
    return norms.named(node.name, args) is not None and not (node.backward or node.steps or node.zeroes)


def _gives_nothing(node: ir.Stmt) -> bool:
    """Whether a statement is a `return` of nothing."""
    return isinstance(node, ir.Return) and (
        node.value is None or (isinstance(node.value, ir.Const) and node.value.value is None)
    )


def _result(run: Run, function: Function, scope: Scope) -> Value:
    node = function.node
    if isinstance(node, ir.Lambda):
        return run.evaluate(scope, node.body)
    if node.generator:
        return _generated(run, node, scope)
    signal = run.execute(scope, node.body)
    if signal == "raise" and any(isinstance(one, ir.If) for one in node.body):
        raise Cut  # what it was asked for, none of its branches has
    return signal.value if isinstance(signal, Returned) else None


def _generated(run: Run, node: ir.Function, scope: Scope) -> Stream:
    """What a generator hands out, made at once; past that, and of one of which nothing is known, symbols."""
    block = run.waiting if run.waiting is not None and run.waiting.manager is node else None
    run.waiting = None if block is not None else run.waiting
    run.yielded.append(Yielded(block=block))
    run.execute(scope, node.body)
    yielded = run.yielded.pop()
    items = yielded.values

    def item(index: int) -> Value:
        return items[index] if index < len(items) else Symbol(f"{node.name}()[{index}]", Origin.DATA)

    length = min(len(items), run.model.batches) if node.endless else len(items)
    return Stream(item, length or None, batches=True, endless=node.endless or yielded.endless)


def _not_run(run: Run, name: str, args: Arguments, keywords: Keywords, at: ir.Span) -> Symbol:
    """What a function returns that is not run: a loss function's value is unknown, a model's output a forward."""
    norms.called(run, name, [*args, *keywords.values()], at)
    data = any(isinstance(value, Loss) for value in (*args, *keywords.values()))
    through = provenance.of([*args, *keywords.values()])
    return Symbol(f"{name}(...)", Origin.DATA if data else Origin.OPAQUE, reach=through)


def bind(run: Run, function: Function, args: Arguments, keywords: Keywords, at: ir.Span, instance: Value) -> Scope:
    """The scope of a call: parameters bound to arguments, defaults, or symbols of their own name."""
    scope = Scope(parent=function.scope, function=function, instance=instance, executes=True)
    params = function.node.params
    plain = [param for param in takewhile(lambda param: param.star != "*", params) if not param.star]
    values = [_passed_on(run, value, at) for value in args]
    for param, value in zip(plain, values, strict=False):
        scope.names[param.name] = counting.counted(run.model, _present(param, _named(param, value)), param.name)
    for param in params:
        _annotate(run, function, param, scope.names.get(param.name))
        if param.name in scope.names:
            continue
        if param.star:
            whole = bool(run.stack) and not isinstance(keywords, Incomplete)
            named = _rest(param, plain, keywords)
            scope.names[param.name] = (
                values[len(plain) :] if param.star == "*" else as_dict(named if whole else Incomplete(named))
            )
        elif param.name in keywords:
            value = _present(param, _named(param, _passed_on(run, keywords[param.name], at)))
            scope.names[param.name] = counting.counted(run.model, value, param.name)
        elif param.default is not None and not isinstance(keywords, Incomplete):
            scope.names[param.name] = run.evaluate(function.scope, param.default)
        else:
            of_batch = isinstance(keywords, Incomplete) and keywords.of_batch
            scope.names[param.name] = Symbol(param.name, Origin.DATA if of_batch else Origin.RUN)
    return scope


def _named(param: ir.Param, value: Value) -> Value:
    """What a command line was parsed to goes by the name of the first parameter that it is handed for."""
    parsed = isinstance(value, Symbol) and value.text.endswith("()") and last_part(value.text[:-2]) in PARSES
    return with_changes(value, text=param.name) if parsed else value


def _present(param: ir.Param, value: Value) -> Value:
    """What a batch holds is there, if it is handed over for a parameter that is None by default."""
    optional = isinstance(param.default, ir.Const) and param.default.value is None
    computed = isinstance(value, Symbol) and value.origin is Origin.DATA
    return with_changes(value, present=True) if optional and computed else value


def _annotate(run: Run, function: Function, param: ir.Param, value: Value) -> None:
    """Takes an annotation's word for the role of a parameter of which nothing is known."""
    if param.annotation is None or (value is not None and not isinstance(value, Symbol)):
        return
    if id(param) not in run.annotations:
        roles = [role_of(name) for name in public_names(run, function.scope, param.annotation)]
        run.annotations[id(param)] = next((role.value for role in reversed(roles) if role is not None), None)
    said = run.annotations[id(param)]
    if said is not None:
        run.annotated[value.text if isinstance(value, Symbol) else param.name] = said


def public_names(run: Run, scope: Scope, node: ir.Expr) -> list[str]:
    """The public names in an annotation, those inside `Optional[...]` and `... | None` included."""
    if isinstance(node, ir.Item):
        return public_names(run, scope, node.index)
    if isinstance(node, ir.Binary):
        return [*public_names(run, scope, node.left), *public_names(run, scope, node.right)]
    value = run.evaluate(scope, node) if isinstance(node, (ir.Name, ir.Attr)) else None
    return [value.name] if isinstance(value, Public) else []


def _rest(param: ir.Param, plain: list[ir.Param], keywords: Keywords) -> Keywords:
    taken = {known.name for known in plain}
    return {name: value for name, value in keywords.items() if name not in taken}


def _passed_on(run: Run, value: Value, at: ir.Span) -> Value:
    """A window's truth that is passed to a function remembers the call that carries it."""
    if isinstance(value, Gated) and value.site is None:
        return with_changes(value, site=run.site(at))
    return value


def gate_of(run: Run, test: Gated, at: ir.Span) -> Gate:
    """The gate that a window's truth makes of a condition; where its counter begins is not known once a batch of the
    epoch was passed over: a run that is resumed passes over as many as it has seen."""
    known = not test.assumed and not run.passed_over
    return Gate(test.site or run.site(at), test.length or ANY_LENGTH, test.restarts if known else None, test.counter)


@contextmanager
def gate(run: Run, test: Value, at: ir.Span) -> Iterator[None]:
    """While it is open, what happens is known to happen only at certain micro-steps, if the test is a window's.

    A framework's own gate inside one of the user's is not the one to speak of.
    """
    if not isinstance(test, Gated) or (run.in_library and run.gates):
        yield
        return
    run.gates.append(gate_of(run, test, at))
    try:
        yield
    finally:
        run.gates.pop()
