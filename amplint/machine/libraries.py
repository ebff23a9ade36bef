"""What a framework does: its names are bound to the classes and functions of its small program, run like the user's.

An event of that program happens at the place in the user's code from which it was called.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from amplint.domains import freezing, provenance
from amplint.flow import program as ir
from amplint.protocol.events import Kind
from amplint.state.run import Run
from amplint.state.scopes import Module, Scope
from amplint.state.values import Class, Function, Instance, Method, Optimizer, Scheduler, Symbol, Value, text_of


def find(run: Run, qualified: str) -> Value:
    """The class or function that a public name stands for; None when no library that the module uses defines it."""
    for library in (*run.program.libraries, *run.program.stubs):
        if qualified in library.defines:
            return _scope(run, library).names.get(library.defines[qualified])
    return None


def adopt(run: Run, symbol: Symbol, called: str = "") -> Instance | None:
    """The object that everybody calls so, of which nothing else is known; None if there is none. `called`: by another
    name than where it comes from."""
    name = called or symbol.name
    for library in run.program.libraries:
        if name in library.adopts and not run.in_framework:
            text = text_of(symbol)
            if text not in run.adopted:
                klass = _scope(run, library).names[library.adopts[name]]
                assert isinstance(klass, Class)
                run.adopted[text] = _of_unknown(run, klass, text)
            return run.adopted[text]
    return None


def _of_unknown(run: Run, klass: Class, text: str) -> Instance:
    """An object of which it is not known how it was made."""
    made = run.instantiate(klass, [], unknown_arguments(klass, {}, f"{text}."), ir.NOWHERE)
    assert isinstance(made, Instance)
    made.text = text
    return made


def unknown_arguments(klass: Class, known: dict[str, Value], prefix: str = "") -> dict[str, Value]:
    """The arguments of a constructor of which only some are known."""
    init = klass.attributes.get("__init__")
    params = init.node.params[1:] if isinstance(init, Function) else ()
    return {param.name: Symbol(prefix + param.name) for param in params if not param.star} | known


def kept(run: Run, value: Value, role: str) -> Value:
    """What a framework makes of an optimizer or scheduler whose making is not seen, or was not handed to it yet."""
    key = ("kept", text_of(value))
    if key in run.objects and not run.in_framework:
        return run.objects[key]
    keeper = run.keepers.get(role)
    made = isinstance(value, Scheduler) or (isinstance(value, Optimizer) and value.algorithm is not None)
    left_out = isinstance(value, Scheduler) and value.optimizer is not None and value.optimizer is run.taken
    if keeper is None or run.in_framework or left_out or (isinstance(value, (Optimizer, Scheduler)) and run.handed):
        return value
    if made and _own_backward(run):
        return value  # a training beside the framework's
    run.objects[key] = run.invoke(keeper, [value], {}, ir.NOWHERE)
    return run.objects[key]


def handed_over(run: Run, values: list[Value]) -> None:
    """Code that is not seen is handed values: if a framework's object and the one optimizer are among them, that is
    where it is made the framework's, and its scheduler, which is not among them, is not."""
    found = [value for value in values if isinstance(value, Optimizer)]
    keeps = any(isinstance(value, Instance) and _is_keeper(run, value) for value in values)
    if keeps and len(found) == len(run.optimizers) == 1 and not any(isinstance(value, Scheduler) for value in values):
        run.taken = found[0]


def gives_outputs(run: Run, instance: Instance) -> None:
    """Keeps an object of a framework that listens for the backward of what it returns."""
    if is_one(instance) and _LISTENS in instance.klass.attributes:
        run.objects["outputs", freezing.key(instance)] = instance


def takes_back(run: Run, through: provenance.Reach, loss: Value, at: ir.Span) -> bool:
    """Whether the user's backward of a loss, made of what a framework's object returned, is done as that one does it.

    Its class says so by a method `backward_of_output`, which returns whether it has."""
    models = sorted(model for model, below in through if model == below)
    holders = [run.objects[key] for key in (("outputs", model) for model in models) if key in run.objects]
    if len(holders) != 1 or run.in_framework:
        return False
    return run.invoke(run.read(holders[0], _LISTENS), [loss], {}, at) is True


_LISTENS = "backward_of_output"


def is_one(value: Value) -> bool:
    """Whether a value is an object of a framework."""
    return isinstance(value, Instance) and defines(value.klass)


def _is_keeper(run: Run, one: Instance) -> bool:
    """Whether an object is the one that makes optimizers and schedulers its own."""
    return any(isinstance(keeper, Method) and keeper.instance is one for keeper in run.keepers.values())


def _own_backward(run: Run) -> bool:
    """Whether the last backward is the user's own, past the framework."""
    last = next((event for event in reversed(run.events) if event.kind is Kind.BACKWARD), None)
    return last is not None and "through" not in last.detail


def may_be_kept(run: Run, value: Optimizer) -> bool:
    """Whether nobody has seen how an optimizer was made, nor whether it was among what a framework was handed."""
    return run.handed and "optimizer" in run.keepers and not run.in_framework and value.algorithm is None


@contextmanager
def standing_in(run: Run, method: Method) -> Iterator[None]:
    """While it is open, a method runs, which may stand in the place of a framework's."""
    before, run.stands_in = run.stands_in, _stands_in(method)
    yield
    run.stands_in = before


def own(run: Run) -> dict[str, str]:
    """What is said of a backward that a method of the user's does in the place of a framework's."""
    return {"stands_in": "yes"} if run.stands_in else {}


def _stands_in(method: Method) -> bool:
    """Whether a method of the user's stands in the place of one of a framework's class."""
    instance, node = method.instance, method.function.node
    if not isinstance(instance, Instance) or not isinstance(node, ir.Function) or defines(method):
        return False
    waiting = list(instance.klass.bases)
    for base in waiting:
        if isinstance(base, Class):
            waiting += base.bases
    return any(isinstance(base, Class) and defines(base) and node.name in base.attributes for base in waiting)


def decorate(run: Run, scope: Scope, made: Function) -> None:
    """Hands a function to the object of a library whose method decorates it: `@trainer.on(event)`."""
    for node in made.node.decorators if isinstance(made.node, ir.Function) and run.program.libraries else ():
        if isinstance(node, ir.Call) and isinstance(node.func, ir.Attr):
            found = run.evaluate(scope, node.func)
            if isinstance(found, Method) and defines(found):
                run.invoke(run.evaluate(scope, node), [made], {}, node.at)


def defines(value: Value) -> bool:
    """Whether a function, a method or a class is one of a program that tells what a framework does."""
    made = value.function if isinstance(value, Method) else value
    module = made.scope.outermost().module if isinstance(made, (Class, Function)) else None
    return module is not None and module.library


def _scope(run: Run, library: ir.Library) -> Scope:
    """The names of a library's program, which runs once in a run."""
    if library.name not in run.library_scopes:
        said = {"through": library.name, **library.spelling} if library.framework else {}
        module = Module(library.name, True, library.framework, said)
        scope = run.library_scopes[library.name] = Scope({"__name__": library.name}, module=module)
        before, run.here = run.here, module
        run.execute(scope, library.body)
        run.here = before
    return run.library_scopes[library.name]
