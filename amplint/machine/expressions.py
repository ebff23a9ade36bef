"""What an expression is worth."""

from __future__ import annotations

from collections.abc import Callable
from typing import NoReturn

from amplint.dialects.schedules import BY_HAND
from amplint.domains import shown_counts, tensors
from amplint.flow import program as ir
from amplint.flow.spelling import spelled
from amplint.machine import (
    arithmetic,
    attributes,
    builtins,
    calls,
    libraries,
    operators,
    places,
    questions,
    streams,
    tables,
    touched,
    with_statements,
)
from amplint.machine.intrinsics import INTRINSICS
from amplint.protocol.ranks import Wrapper
from amplint.protocol.values import with_changes
from amplint.state import counting, known_numbers, mappings, truths
from amplint.state.contexts import Builtin
from amplint.state.model import MAX_ITERATIONS
from amplint.state.naming import bounded
from amplint.state.records import Filling
from amplint.state.run import Cut, Run
from amplint.state.scopes import Scope
from amplint.state.values import (
    Condition,
    Function,
    Gated,
    Gathered,
    Incomplete,
    Instance,
    Loss,
    Origin,
    Public,
    Stream,
    Symbol,
    Value,
    text_of,
)

_BUILTINS = frozenset(
    """abs all any bool dict divmod enumerate filter float getattr hasattr int isinstance iter len list map max min next
    open print range reversed round set setattr sorted str sum super tuple type vars zip""".split()
) | {BY_HAND}


def evaluate(run: Run, scope: Scope, node: ir.Expr) -> Value:
    """The value of an expression."""
    return _EVALUATORS[type(node)](run, scope, node)  # type: ignore[arg-type]  # each is of its own kind of node


def _name(run: Run, scope: Scope, node: ir.Name) -> Value:
    found = scope.find(node.name)
    if found is not None:
        return found.names[node.name]
    if node.name in _BUILTINS or (run.in_library and node.name in INTRINSICS):
        return Builtin(node.name)
    if _is_unbound(scope, node.name):
        raise Cut  # Python raises
    return Symbol(node.name)


def _asks_whether_bound(scope: Scope, node: ir.Compare) -> bool | None:
    """The answer to `"name" in locals()`, None to any other question."""
    name = node.left.value if isinstance(node.left, ir.Const) else None
    if not isinstance(name, str) or node.op not in ("in", "not in") or spelled(node.right) not in _NAMESPACES:
        return None
    return (scope.find(name) is not None) is (node.op == "in")


_NAMESPACES = frozenset({"locals()", "globals()", "vars()", "dir()"})


def _is_unbound(scope: Scope, name: str) -> bool:
    """Whether a name that no scope knows is one of the function's own, and nothing has bound it yet."""
    inner: Scope | None = scope
    while inner is not None and inner.function is None:
        inner = inner.parent
    node = inner.function.node if inner is not None and inner.executes and inner.function is not None else None
    return isinstance(node, ir.Function) and name in node.bound


def _attr(run: Run, scope: Scope, node: ir.Attr) -> Value:
    owner = evaluate(run, scope, node.owner)
    if node.name == "backward" and isinstance(node.owner, (ir.Name, ir.Call)) and _is_nothing(owner):
        raise Cut  # torch is not reached: None has no such method
    if owner is None and isinstance(node.owner, ir.Attr):
        owner = attributes.made_later(run, evaluate(run, scope, node.owner.owner), node.owner.name)
    if type(owner) is Symbol and owner.origin is Origin.RUN and isinstance(node.owner, (ir.Name, ir.Attr)):
        adopted = libraries.adopt(run, owner, node.owner.name)
        owner = adopted if adopted is not None else owner
    return attributes.read(run, owner, node.name)


def _is_nothing(value: Value) -> bool:
    """Whether a value is None: what a name was set to, or what a function of the program returned."""
    return value is None or (type(value) is Symbol and value.text == "None")


def _item(run: Run, scope: Scope, node: ir.Item) -> Value:
    owner = truths.resolve(run, evaluate(run, scope, node.owner))
    index = evaluate(run, scope, node.index)
    if isinstance(owner, (list, tuple)) and isinstance(index, slice):
        return owner[index]
    if isinstance(owner, (list, tuple)) and isinstance(index, int) and -len(owner) <= index < len(owner):
        return owner[index]
    if isinstance(owner, Gathered) and owner and isinstance(index, int):
        return owner[index % len(owner)]  # gathered in a loop of which one turn was run: all of them are alike
    held = owner if isinstance(owner, dict) else mappings.items(owner)
    if held is not None and mappings.is_key(index) and (index in held or isinstance(held, Filling)):
        return held[index]
    if isinstance(owner, Instance) and (first := mappings.at_first(owner)) is not None:
        return first
    if isinstance(owner, Stream):
        return owner.item(index if isinstance(index, int) else 0)
    if (member := tables.member(run, owner, index)) is not None:
        return member
    if isinstance(owner, Loss):
        return owner
    if isinstance(owner, Symbol):
        if isinstance(index, slice) and index.start in (None, 0) and owner.tags & tensors.BEGINS_WITH_LOSS:
            return owner
        returned = attributes.part_of_output(run, owner, index)
        returned = returned if returned is not None else places.of_any_key(run, owner)
        if returned is not None:
            return returned
    found = element(owner, text_of(index))
    counts = run.in_batches and type(owner) is Symbol and found.origin is Origin.RUN
    counts = counts and isinstance(index, int) and not isinstance(node.index, ir.Const)
    return with_changes(found, origin=Origin.OPAQUE) if counts else found


def element(owner: Value, index: str) -> Symbol:
    """Some element of something that is not known."""
    if isinstance(owner, Symbol):
        text = bounded(f"{owner.text}[{index}]")
        tags = tensors.of_element(owner, index == "0")
        return with_changes(owner, text=text, offset=0, tags=tags, wrapper=Wrapper.NONE, present=False)
    settled = isinstance(owner, Public) and owner.name in ("os.environ", "sys.argv")  # given from outside, once
    return Symbol(f"{text_of(owner)}[{index}]", Origin.RUN if settled else Origin.DATA)


def _binary(run: Run, scope: Scope, node: ir.Binary) -> Value:
    left = truths.resolve(run, evaluate(run, scope, node.left))
    right = truths.resolve(run, evaluate(run, scope, node.right))
    own = operators.binary(run, node, left, right)
    return own[0] if own is not None else arithmetic.binary(run, node, left, right)


def _compare(run: Run, scope: Scope, node: ir.Compare) -> Value:
    if (bound := _asks_whether_bound(scope, node)) is not None:
        return bound
    left, right = evaluate(run, scope, node.left), evaluate(run, scope, node.right)
    if node.gates:
        left, right = touched.current(run, left), touched.current(run, right)
    shown_counts.compare(run, left, right)
    return arithmetic.compare(run, node, left, right)


def _logic(run: Run, scope: Scope, node: ir.Logic) -> Value:
    """`and`, `or`, `not`: short-circuit where the operands are known, a condition where they are not."""
    if node.op == "not":
        return _negated(run, evaluate(run, scope, node.parts[0]))
    gated: Gated | None = None
    unknown: list[Value] = []
    value: Value = node.op == "and"
    for part in node.parts:
        value = arithmetic.asked(evaluate(run, scope, part))
        gated = value if isinstance(value, Gated) else gated
        if isinstance(value, (Symbol, Condition)) and known_numbers.window_of(run, value) is None:
            unknown.append(value)
        elif truths.truth(run, value) is (node.op == "or"):
            return _keep(gated, value) if not unknown else _mixed(run, node, gated, [*unknown, value])
    return _keep(gated, value) if not unknown else _mixed(run, node, gated, unknown)


def _mixed(run: Run, node: ir.Logic, gated: Gated | None, unknown: list[Value]) -> Value:
    """A condition; one that a window has a part in is decided at once, so that it stays a gate."""
    op = node.op
    if gated is None:
        return unknown[0] if len(unknown) == 1 else Condition(op, tuple(unknown))
    opaque = [part for part in unknown if isinstance(part, Symbol) and part.origin is Origin.OPAQUE]
    for part in opaque if op == "or" else ():
        run.decide(text_of(part), part.origin, default=False)  # what is asked besides the window is an exception
        run.model.learn_no_tail()  # the last batch, for all that is known
    if op == "or" or any(map(_is_amid, node.parts)):
        last = run.last_batch is (op == "or")
        unknown = [last if _is_last(run, part, reached=op == "or") else part for part in unknown]
    known = [gated] if not any(part is gated for part in unknown) else []
    value = truths.truth(run, Condition(op, (*known, *unknown)))
    asks = op == "and" and any(map(questions.asks_the_moment, unknown))
    return with_changes(gated, value=value, assumed=gated.assumed or bool(opaque) or asks)


def _is_amid(part: ir.Expr) -> bool:
    """Whether a part of a test says that a window is not over: `i % n`, or `i % n != 0`."""
    return getattr(part.left if isinstance(part, ir.Compare) and part.op == "!=" else part, "op", "") == "%"


def _is_last(run: Run, value: Value, reached: bool) -> bool:
    """Whether it is asked if a counter has come up to a bound that is set elsewhere, or has not yet: beside a gate, the
    bound is that of the last batch."""
    if not isinstance(value, Condition) or value.op not in _REACHED or not run.in_batches:
        return False
    written = list(zip(value.parts, value.texts, strict=True))
    (counter, text), (bound, _) = written if (value.op in (">", ">=")) is reached else written[::-1]
    settled = isinstance(bound, Symbol) and bound.origin is Origin.RUN
    return settled and isinstance(known_numbers.number(run, counter), int) and text != text_of(counter)


_REACHED = frozenset({">", ">=", "<", "<="})


def _keep(gated: Gated | None, value: Value) -> Value:
    if gated is None or isinstance(value, Gated):
        return value
    return with_changes(gated, value=bool(value)) if isinstance(value, (bool, int)) else value


def _negated(run: Run, value: Value) -> Value:
    value = arithmetic.asked(value)
    if isinstance(value, Gated):
        return with_changes(value, value=not value.value)
    if isinstance(value, (Symbol, Condition)) and known_numbers.window_of(run, value) is None:
        return Condition("not", (value,))
    return not truths.truth(run, value)


def _choice(run: Run, scope: Scope, node: ir.Choice) -> Value:
    test = arithmetic.asked(evaluate(run, scope, node.test))
    chosen = node.yes if truths.truth(run, test) else node.no
    if not isinstance(test, Gated):
        return evaluate(run, scope, chosen)
    with calls.gate(run, test, node.at):
        return evaluate(run, scope, chosen)


def _display(run: Run, scope: Scope, node: ir.Display) -> Value:
    values = [evaluate(run, scope, item) for item in node.items]
    if node.kind == "slice":
        return slice(*(value if isinstance(value, int) else None for value in values))
    if node.kind == "list" and not values:
        return Gathered()
    return tuple(values) if node.kind == "tuple" else values


def _mapping(run: Run, scope: Scope, node: ir.Mapping) -> Value:
    found: dict[Value, Value] = {}
    whole = True
    for key, item in node.items:
        value = evaluate(run, scope, item)
        name = evaluate(run, scope, key) if key is not None else None
        if mappings.is_key(name):
            found[name] = counting.counted(run.model, value, name) if isinstance(name, str) else value
        elif key is None and isinstance(value, dict):
            found.update(value)
            whole = whole and not isinstance(value, Incomplete)
        else:
            whole = False
            mappings.overwrite(found)
    return found if whole else Incomplete(found)


MAX_ELEMENTS = 64
MAX_TESTED = 8


def _comprehension(run: Run, scope: Scope, node: ir.Comprehension) -> Value:
    """One element per element of a known source that passes the tests; a stream of one unknown element otherwise.

    Batches that are drawn so many at a time as a window holds are one.
    """
    if node.key is not None and not node.tests and _is_plain(node.element):
        return Filling({}, lambda: evaluate(run, scope, node.element))
    held = evaluate(run, scope, node.source)
    source = streams.stream_of(run, held)
    inner = Scope(parent=scope, function=scope.function, instance=scope.instance, executes=scope.executes)
    if node.key is not None:
        return _dict_of(run, inner, node, held, source)
    known = source.length is not None and source.length <= (MAX_TESTED if node.tests else MAX_ELEMENTS)
    known &= isinstance(held, (list, tuple)) or not node.tests
    values = []
    for index in range((source.length or 0) if known else 1):
        run.assign(inner, node.target, source.item(index))
        if not known or all(truths.truth(run, evaluate(run, inner, test)) for test in node.tests):
            values.append(evaluate(run, inner, node.element))
    if known and values and _fills_a_window(run, source, values):
        return Stream(lambda index: streams.at(values, index), len(values), source.bound, window=True)
    if known:
        return values
    return Stream(lambda index: values[0], bound=source.bound, batches=source.batches, endless=source.endless)


def _is_plain(node: ir.Expr) -> bool:
    """Whether an expression is a number, or an empty container: of such a dict all values are alike at first."""
    if isinstance(node, ir.Call):
        return isinstance(node.func, ir.Name) and node.func.name in ("list", "dict") and not node.args
    empty = isinstance(node, (ir.Display, ir.Mapping)) and not node.items
    return empty or (isinstance(node, ir.Const) and isinstance(node.value, (int, float)))


def _dict_of(run: Run, inner: Scope, node: ir.Comprehension, held: Value, source: Stream) -> Value:
    """The dict that a comprehension makes of what is known, under keys that are; else nobody knows what is in it."""
    unknown = Symbol("a dict", Origin.OPAQUE)
    if node.key is None or not isinstance(held, (list, tuple)) or len(held) > MAX_TESTED:
        return unknown
    made: dict[Value, Value] = {}
    for index in range(len(held)):
        run.assign(inner, node.target, source.item(index))
        if all(truths.truth(run, evaluate(run, inner, test)) for test in node.tests):
            key = evaluate(run, inner, node.key)
            if not mappings.is_key(key):
                return unknown
            made[key] = evaluate(run, inner, node.element)
    return made


def _fills_a_window(run: Run, source: Stream, values: list[Value]) -> bool:
    """Whether values are batches, drawn as many at a time as a window holds."""
    return known_numbers.window_of(run, source.bound) is not None and all(map(streams.is_batch, values))


def _lambda(run: Run, scope: Scope, node: ir.Lambda) -> Value:
    return Function(node, scope)


def _walrus(run: Run, scope: Scope, node: ir.Walrus) -> Value:
    value = evaluate(run, scope, node.value)
    scope.bind(node.name, value)
    return value


def _yield(run: Run, scope: Scope, node: ir.Yield) -> Value:
    """What a generator hands out is gathered, up to as much as a run can use."""
    value = evaluate(run, scope, node.value)
    gathered = run.yielded[-1].values if run.yielded else []
    if run.yielded and (block := run.yielded[-1].block) is not None:
        with_statements.reach(run, block, value)
    stream = streams.stream_of(run, value) if node.each else None
    values = [value] if stream is None else [stream.item(index) for index in range(builtins.length_of(run, stream))]
    gathered += values[: MAX_ITERATIONS - len(gathered)]
    return Symbol("sent", Origin.OPAQUE)


_EVALUATORS: dict[type, Callable[[Run, Scope, NoReturn], Value]] = {
    ir.Const: lambda run, scope, node: run.model.sized(node.value) if type(node.value) is int else node.value,
    ir.Text: lambda run, scope, node: Symbol(node.text[:60], Origin.OPAQUE),
    ir.Name: _name,
    ir.Attr: _attr,
    ir.Item: _item,
    ir.Call: calls.call,
    ir.Binary: _binary,
    ir.Compare: _compare,
    ir.Logic: _logic,
    ir.Choice: _choice,
    ir.Display: _display,
    ir.Mapping: _mapping,
    ir.Comprehension: _comprehension,
    ir.Lambda: _lambda,
    ir.Walrus: _walrus,
    ir.Yield: _yield,
}
