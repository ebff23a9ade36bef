"""Models that are wrapped for several processes: which forwards and backwards of theirs reduce over the ranks.

A wrapped model remembers what wraps it. A backward goes with the forwards of wrapped models since the one before it.
Whether it reduces is known only where all of them agree.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from amplint.dialects import DIALECTS
from amplint.dialects import vocabulary as words
from amplint.dialects.methods import OF_MODEL
from amplint.dialects.public import COLLECTIVES
from amplint.dialects.syntax import NO_SHARDS, STRATEGY
from amplint.dialects.vocabulary import names_tokens, within
from amplint.flow import program as ir
from amplint.protocol.events import Kind
from amplint.protocol.precision import LOWER
from amplint.protocol.ranks import SET_LATE, Sync, Wrapper
from amplint.protocol.values import with_changes
from amplint.state import truths
from amplint.state.contexts import Forward, NoSync
from amplint.state.values import (
    Incomplete,
    Instance,
    Keywords,
    Loss,
    Method,
    Parameters,
    Public,
    Symbol,
    Value,
    text_of,
)

if TYPE_CHECKING:
    from amplint.domains.provenance import Reach
    from amplint.state.event_parts import Reduced
    from amplint.state.run import Run

_WRAPPERS = {name: wrapper for dialect in DIALECTS for name, wrapper in dialect.wrappers.items()}
_ASKED = frozenset(name for name, wrapper in _WRAPPERS.items() if wrapper is Wrapper.DDP)
NO_FORWARD = OF_MODEL - {"forward"}
_COMPUTES = within(words.LOSS, "logits forward train_step training_step encode encoder decode decoder embed predict")
"""Methods, besides the call itself, that run a model for its loss."""

_MODEL = within(words.MODEL)
_SWITCH = "require_backward_grad_sync"
_WORLD = re.compile(r"(?i)^1 / (?P<ranks>(?:.*\.)?(?:(?:get_)?world_?size(?:\(\))?|n_?procs))$")
_MASKING = ("!= -100", "ignore_index")
_OF_ALL = ("world", "global", "all_", "across", "rank")
_FSDP = (Wrapper.SHARDED, Wrapper.UNSHARDED)
_PAST = (Wrapper.INSIDE, Wrapper.TAKEN_OUT)


def wraps(name: str) -> bool:
    """Whether a public name is that of a wrapper."""
    return name in _WRAPPERS


def is_wrapped(value: Value) -> bool:
    """Whether a value is a model that something is known to wrap."""
    return isinstance(value, (Symbol, Instance)) and value.wrapper is not Wrapper.NONE


def is_wrapped_by(value: Value, classes: tuple[Value, ...]) -> bool | None:
    """Whether a model is wrapped by one of some classes, None where that is not known or other classes are asked for.

    What stands inside of DistributedDataParallel is wrapped no more: torch nests it in nothing of its kind.
    """
    asked = {_WRAPPERS.get(one.name) if isinstance(one, Public) else None for one in classes}
    known = value.wrapper if isinstance(value, (Symbol, Instance)) else Wrapper.NONE
    if None in asked or known not in (Wrapper.DDP, Wrapper.INSIDE, *_FSDP):
        return None
    return known in asked or (known in _FSDP and not asked.isdisjoint(_FSDP))


def wrap(run: Run, name: str, args: list[Value], keywords: dict[str, Value]) -> Value:
    """The model that a wrapper is given, which now remembers it; what it was before is what is inside."""
    model = args[0] if args else keywords.get("module", Symbol(f"{name}()"))
    wrapper = _WRAPPERS[name]
    if wrapper is Wrapper.SHARDED and (strategy := keywords.get("sharding_strategy")) is not None:
        said = STRATEGY.match(strategy.name) if isinstance(strategy, Public) else None
        whole = said is not None and said["which"] == NO_SHARDS
        wrapper = Wrapper.UNSHARDED if whole else wrapper if said is not None else Wrapper.NONE
    elif wrapper is Wrapper.SHARDED and isinstance(keywords, Incomplete):
        wrapper = Wrapper.NONE  # a strategy may be among the rest
    if wrapper is Wrapper.DDP:
        run.ranks.inner.append(model)
    half = keywords.get("mixed_precision")
    if isinstance(model, Symbol) and isinstance(half, Symbol) and half.ran in LOWER:
        model = with_changes(model, ran=half.ran)
    return _as(model, wrapper)


def _as(model: Value, wrapper: Wrapper) -> Value:
    """The same model, wrapped; one of a class of the program keeps its attributes."""
    if isinstance(model, Instance):
        return Instance(model.klass, model.attributes, model.text, model.pending, wrapper, items=model.items)
    return with_changes(model, wrapper=wrapper) if isinstance(model, Symbol) else model


def attribute(owner: Symbol | Instance, name: str) -> Value:
    """An attribute of a wrapped model that says more than another; None if it is a plain one."""
    if owner.wrapper is Wrapper.NONE:
        return None
    if name == "module":
        inside = Wrapper.INSIDE if owner.wrapper in (Wrapper.DDP, Wrapper.INSIDE) else Wrapper.NONE
        inside = Wrapper.TAKEN_OUT if owner.wrapper is Wrapper.TAKEN_OUT else inside
        return _as(owner if isinstance(owner, Instance) else with_changes(owner, text=f"{owner.text}.module"), inside)
    if isinstance(owner, Symbol):
        kept = name in OF_MODEL or (owner.wrapper in _PAST and (_COMPUTES(name) or _MODEL(name)))
        return with_changes(owner, text=f"{text_of(owner)}.{name}", offset=0) if kept else None
    return Symbol(f"{owner.text}.{name}", wrapper=owner.wrapper) if name in NO_FORWARD else None


def goes_past(called: Symbol) -> bool:
    """Whether what is called computes with the module inside of a wrapper."""
    return called.wrapper in _PAST


def taken_out(run: Run, args: list[Value], keywords: Keywords, at: ir.Span) -> Value:
    """`taken_out(model)`: the module inside of what a framework has wrapped a model in; anything else is itself."""
    model = args[0]
    if isinstance(model, Symbol):
        return with_changes(model, text=f"{model.text}.module", wrapper=Wrapper.TAKEN_OUT)
    return _as(model, Wrapper.TAKEN_OUT)


def switch(run: Run, owner: Value, name: str, value: Value) -> None:
    """`model.require_backward_grad_sync = value`."""
    if name == _SWITCH:
        change = run.ranks.off.discard if truths.truth(run, value) else run.ranks.off.add
        change(text_of(owner))
        run.ranks.switched.add(text_of(owner))


def enter(run: Run, context: Value) -> None:
    """Holds the gradients of a model back, if the context is its `no_sync`."""
    if isinstance(context, NoSync):
        run.ranks.held |= {context.model}


def handed(run: Run, func: Value, args: list[Value], at: ir.Span) -> None:
    """Notes that a wrapped model ran, or may run in code that is not seen; the module inside a wrapper only where the
    call is known to return what is back-propagated: else a copy is made of it, or an average."""
    carried = (run.path, at) in run.program.forwards
    forward(run, func, [value for value in args if carried or _wrapper(run, value) not in _PAST], at)


def forward(run: Run, func: Value, args: list[Value], at: ir.Span) -> None:
    """Notes that a wrapped model ran."""
    if run.without_graph:
        return
    if run.ranks.spent:
        run.ranks.forwards, run.ranks.ran, run.ranks.spent = [], set(), False
    given = [value for value in (func, *args) if isinstance(value, (Symbol, Instance))]
    if run.in_batches:
        run.ranks.ran |= {text_of(value) for value in given if _wrapper(run, value) not in _PAST}
    found = next((value for value in given if _wrapper(run, value) is not Wrapper.NONE), None)
    if found is None:
        return
    model = text_of(found).removesuffix(".forward")
    run.ranks.forwards.append(
        Forward(model, _wrapper(run, found), _held(run, model), run.site(at), tuple(run.stack), run.tick)
    )


def behind(run: Run, method: Method, args: list[Value], at: ir.Span) -> None:
    """Notes that a model ran behind its wrapper, by a method that computes."""
    model, node = method.instance, method.function.node
    inside = isinstance(model, Instance) and model.wrapper in _PAST
    if inside and isinstance(node, ir.Function) and _COMPUTES(node.name):
        forward(run, model, args, at)


def _wrapper(run: Run, value: Value) -> Wrapper:
    if not isinstance(value, (Symbol, Instance)):
        return Wrapper.NONE
    known = value.wrapper
    if known is Wrapper.NONE and any(value is one for one in run.ranks.inner):
        return Wrapper.INSIDE  # under the name that it had before it was wrapped
    if known is not Wrapper.NONE or not isinstance(value, Symbol):
        return known
    used = run.program.usage.get(value.name, frozenset())
    asked = () if value.present else sorted(used & _ASKED)  # elsewhere, whether it is wrapped: it is in some run
    for name in asked:
        if run.decide(f"isinstance({value.text}, {name})", value.origin):
            return _WRAPPERS[name]
    return Wrapper.SOME if "no_sync" in used else known


def _held(run: Run, model: str) -> bool:
    return model in run.ranks.held or model in run.ranks.off


def backward(run: Run, reach: Reach, at: ir.Span) -> Reduced:
    """What a backward that happens now does on the other ranks, as parts of its event; `reach`: as far as is known."""
    if run.without_graph:  # one that is not reached
        return {}
    run.ranks.spent = True
    every = [forward for forward in run.ranks.forwards if forward.tick == run.tick]
    found = [forward for forward in every if forward.wrapper not in _PAST]
    past = [forward for forward in every if forward not in found and _goes_past(run, forward, reach, bool(found))]
    if past and "reduces" not in run.program.ranks:
        run.emit(Kind.BYPASS, at)
        run.events[-1] = with_changes(run.events[-1], site=past[-1].site, stack=past[-1].stack)
    every = [forward for forward in every if forward.wrapper is not Wrapper.TAKEN_OUT]
    if every and not found:
        return {"wrapper": Wrapper.INSIDE}
    wrappers = {forward.wrapper for forward in found}
    if len(wrappers) != 1:
        return {}
    syncs = {_sync(run, forward) for forward in found}
    return {"wrapper": wrappers.pop(), "sync": syncs.pop() if len(syncs) == 1 else Sync.UNKNOWN}


def set_late(run: Run) -> dict[str, str]:
    """Whether the reduction of a model was switched by hand between its forward, which reads that, and the backward."""
    by_hand = run.ranks.switched - run.ranks.held
    since = [] if run.ranks.spent else run.ranks.forwards
    late = (one for one in since if one.model in by_hand and one.wrapper is Wrapper.DDP)
    return {SET_LATE: "yes"} if any(one.held is not _held(run, one.model) for one in late) else {}


def _goes_past(run: Run, forward: Forward, reach: Reach, among_others: bool) -> bool:
    """Whether nothing but a forward inside of a wrapper makes gradients of its model, as far as the program shows.

    Where other models ran too, or nothing says for sure that it is wrapped, it must be seen that the model is trained,
    and that the loss goes through it.
    """
    name = forward.model.partition(".module")[0]
    if any(one == name or (one.startswith(f"{name}.") and _forwards(one.removeprefix(name))) for one in run.ranks.ran):
        return False
    through = any(_is_of(one, name) for one, _ in reach)
    if among_others or forward.wrapper is Wrapper.TAKEN_OUT:
        return through and _trains(run, name) is True
    return _trains(run, name) is not False


def _forwards(path: str) -> bool:
    """Whether a path below a model is that of a method that runs the model."""
    method = path.removeprefix(".")
    return "." not in method and (method == "forward" or _COMPUTES(method))


def _trains(run: Run, name: str) -> bool | None:
    """Whether an optimizer holds a model's parameters; None where it is not known what one holds."""
    held = [found.models for found in run.optimizers.values() if found.algorithm is not None]
    trained = {one.replace(".module", "") for models in held for one in models}
    if any(_is_of(one, name) for one in trained):
        return True
    return False if held and all(held) else None


def _is_of(text: str, owner: str) -> bool:
    """Whether a text is that of an object, or of something that it holds."""
    return text == owner or text.startswith(f"{owner}.")


def _sync(run: Run, forward: Forward) -> Sync:
    """What becomes of the gradients of one forward, if they are back-propagated now."""
    if run.ranks.all_held:
        return Sync.LOCAL
    now = _held(run, forward.model)
    if forward.held if forward.wrapper is Wrapper.DDP else now and (forward.held or forward.wrapper in _FSDP):
        return Sync.UNKNOWN if _several_optimizers(run) or "reduces" in run.program.ranks else Sync.LOCAL
    if forward.wrapper is Wrapper.SOME:
        return Sync.UNKNOWN
    if now:
        return Sync.TOO_LATE
    known = "defers" not in run.program.ranks and not run.ranks.held
    return Sync.REDUCED if known else Sync.UNKNOWN


def averaged(run: Run, loss: Loss) -> dict[str, str]:
    """By which number of ranks a mean loss, and nothing else about it, was divided."""
    if loss.weight is None or loss.summed or len(loss.factors) != 1 or run.hooked or "gathers" in run.program.ranks:
        return {}
    if loss.trail.of_all:
        return {}
    found = _WORLD.match(next(iter(loss.factors)))
    summed = {"collected": "yes"} if loss.collected and "reduces" not in run.program.ranks else {}
    return {"ranks": found["ranks"], **summed} if found else {}


def speaks_of_all(name: str) -> bool:
    """Whether a function says that what it gives is of all ranks, not of this one alone."""
    return _ALL(name)


_ALL = within(words.OF_ALL_RANKS)


def collects(function: Value) -> bool:
    """Whether a function is one of torch that sums a tensor up over the ranks, in place and without a graph."""
    return isinstance(function, Public) and function.name in COLLECTIVES


def counted(run: Run, loss: Loss) -> dict[str, str]:
    """By which number of tokens a sum of losses was divided, if it can only be this rank's own."""
    if not loss.summed or len(loss.factors) != 1 or run.hooked or run.program.ranks & {"gathers", "collects"}:
        return {}
    factor = next(iter(loss.factors))
    of_tokens = names_tokens(factor) or any(one in factor.lower() for one in _MASKING)
    own = factor.startswith("1 / ") and of_tokens and not any(one in factor.lower() for one in _OF_ALL)
    return {"tokens": factor[4:]} if own else {}


def _several_optimizers(run: Run) -> bool:
    """Whether the gradients that are held back may be another optimizer's than the one that steps next."""
    made = {event.site for event in run.events if event.kind is Kind.CREATE and event.scheduler is None}
    return len(made) + sum("#" not in key for key in run.optimizers) > 1


def clipped(value: Value) -> Wrapper:
    """What wraps the model whose parameters are clipped."""
    if isinstance(value, (list, tuple)) and value:
        return clipped(value[0])
    return value.wrapper if isinstance(value, Parameters) else Wrapper.NONE
