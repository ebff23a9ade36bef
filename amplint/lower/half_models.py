"""Which of torch's own optimizers are made with the parameters of a model that is float16 as a whole.

It was cast, was loaded so, or was made while float16 was the default. Followed along the statements of one body, by the
name of the model. Whatever else happens to the name before the optimizer is made, and a cast back anywhere in the
module, makes it unknown.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from amplint.dialects import vocabulary as words
from amplint.dialects.syntax import DEFAULT_DTYPE, DEVICE, FLOAT16, MODULE, OPTIMIZER
from amplint.dialects.vocabulary import within
from amplint.flow import program as ir
from amplint.lower.loaded_models import loaded_in
from amplint.lower.names import children, functions, last, walk
from amplint.lower.scopes import Scope

_BACK = frozenset({"float", "double", "bfloat16"})
_WIDER = _BACK | {"float32", "float64"}
_HARMLESS = frozenset(
    """cuda cpu train eval parameters named_parameters zero_grad state_dict load_state_dict
    gradient_checkpointing_enable gradient_checkpointing_disable resize_token_embeddings
    enable_input_require_grads""".split()
)
_LOOK = frozenset({"print", "type", "isinstance", "hasattr", "id", "str", "repr"})
_LOOKED_AT = frozenset({"config", "generation_config", "device", "dtype", "training"})
_DEVICE = frozenset({"device", "dev", "cuda", "gpu", "cpu", "rank", "local_rank", "gpu_id"})
_COPIES = within(words.UPCASTING)


def keeps_copies(body: tuple[ir.Stmt, ...]) -> bool:
    """Whether something may keep a copy of the parameters in float32, or step on one."""
    return any(_keeps_copy(node) for statement in body for node in walk(statement))


def half_optimizers(body: tuple[ir.Stmt, ...]) -> frozenset[ir.Span]:
    """The calls that make such an optimizer, in a module that keeps no copies."""
    every = [node for statement in body for node in walk(statement)]
    outer = Scope.of_module(body)
    own = frozenset(node.name for node in every if isinstance(node, ir.Class) and not any(map(_wider, walk(node))))
    of_module = _Models(outer, own)
    found = list(of_module.body(body, set()))
    default = of_module.default and sum(map(_sets_default, every)) == 1
    for _, function in functions(body):
        scope = outer.inside(function.body, (param.name for param in function.params))
        found += _Models(scope, own, default).body(function.body, set())
    back = {
        _key(node.func.owner)
        for node in every
        if isinstance(node, ir.Call) and isinstance(node.func, ir.Attr) and _goes_back(node)
    }
    return frozenset(at for at, model in found if model not in back)


def _sets_default(node: object) -> bool:
    return isinstance(node, ir.Call) and last(node.func).startswith("set_default_")


def _wider(node: object) -> bool:
    """Whether something in a class may make its parameters in another dtype than the default."""
    named = isinstance(node, ir.Call) and "dtype" in dict(node.keywords)
    return named or (isinstance(node, ir.Call) and isinstance(node.func, ir.Attr) and _goes_back(node))


def _goes_back(call: ir.Call) -> bool:
    """Whether a method casts to something wider, or to bfloat16."""
    return last(call.func) in _BACK or (
        last(call.func) == "to" and any(last(given) in _WIDER for given in _given(call))
    )


def _keeps_copy(node: object) -> bool:
    """Whether parameters may be exchanged by hand: `p.data = p.data.float()`, or what names a copy in float32."""
    if isinstance(node, (ir.Assign, ir.Augment)):
        return isinstance(node.target, ir.Attr) and node.target.name in ("data", "_unscale_grads_")
    called = last(node.func) if isinstance(node, ir.Call) else ""
    return _COPIES(called)


def _key(node: object) -> str:
    """`model`, `self.model`; empty for anything else."""
    if isinstance(node, ir.Name):
        return node.name
    owner = _key(node.owner) if isinstance(node, ir.Attr) else ""
    return f"{owner}.{node.name}" if isinstance(node, ir.Attr) and owner else ""


class _Models:
    """Follows the names of models that are float16 through one body; `half` are those names. `own`: the classes of the
    module that make no parameters of another dtype; `default`: float16 is what parameters are made in."""

    def __init__(self, scope: Scope, own: frozenset[str], default: bool = False) -> None:
        self.scope, self.own, self.default = scope, own, default

    def body(self, nodes: Iterable[ir.Stmt], half: set[str]) -> Iterator[tuple[ir.Span, str]]:
        """Where an optimizer is made with a model that is float16, and the name of that model."""
        for node in nodes:
            if isinstance(node, (ir.Function, ir.Class)):
                continue
            if isinstance(node, ir.With):
                half -= self._harmed(node.context, half)
                yield from self.body(node.body, half)
            elif isinstance(node, (ir.If, ir.For, ir.While, ir.Try)):
                yield from self._compound(node, half)
            else:
                yield from self._simple(node, half)

    def _compound(self, node: ir.Stmt, half: set[str]) -> Iterator[tuple[ir.Span, str]]:
        """Each block knows what was known before; what a block changes is not known after it."""
        changed = {name for name in half if any(name in _bound(part) for part in walk(node))}
        half -= changed | self._harmed(node, half)
        default = self.default
        for suite in _suites(node):
            yield from self.body(suite, set(half))
            self.default = default and self.default

    def _simple(self, node: ir.Stmt, half: set[str]) -> Iterator[tuple[ir.Span, str]]:
        for part in walk(node):
            model = self._optimized(part) if isinstance(part, ir.Call) else None
            if isinstance(part, ir.Call) and model is not None and (self._cast(model) or _key(model) in half):
                yield part.at, _key(model)
        value = getattr(node, "value", None)
        cast = isinstance(value, ir.Call) and (self._cast(value) or self._made_half(value))
        self.default = self._default(value)
        half -= set() if cast else self._harmed(node, half)
        if isinstance(node, ir.Do) and cast:
            half.add(_key(_base(value)))
        for name in _bound(node):
            half -= {one for one in half if one == name or one.startswith(f"{name}.")}
            half -= {_key(_base(value))}  # two names of one model are not told apart
            half |= {name} if cast and isinstance(node, ir.Assign) else set()
        half.discard("")

    def _optimized(self, call: ir.Call) -> ir.Expr | None:
        """The model whose parameters, some of them and nothing else, one of torch's optimizers is made with."""
        if call.starred or "fused" in dict(call.keywords) or not OPTIMIZER.match(self.scope.qualified(call.func) or ""):
            return None
        given = call.args[0] if call.args else dict(call.keywords).get("params")
        named = isinstance(given, ir.Call) and last(given.func) == "named_parameters"
        return _whose(self.scope.value(given)) if given is not None and not named else None

    def _cast(self, node: ir.Expr) -> bool:
        """Whether an expression is `x.half()` or `x.to(torch.float16)`, moved to a device perhaps."""
        if not isinstance(node, ir.Call) or not isinstance(node.func, ir.Attr) or node.starred:
            return False
        if node.func.name == "half":
            return not node.args
        if node.func.name == "to" and any(self.scope.qualified(given) in FLOAT16 for given in _given(node)):
            return True
        return self._moves(node) and self._cast(node.func.owner)

    def _made_half(self, node: ir.Expr) -> bool:
        """Whether an expression makes a model whose parameters are float16 from the start, moved perhaps."""
        while isinstance(node, ir.Call) and isinstance(node.func, ir.Attr) and self._moves(node):
            node = node.func.owner
        if not isinstance(node, ir.Call):
            return False
        loaded = loaded_in(self.scope, node) == "float16"
        made = (self.scope.qualified(node.func) or "").startswith(MODULE) or last(node.func) in self.own
        return loaded or (self.default and made and not _wider(node))

    def _default(self, node: object) -> bool:
        """Whether float16 is the default after a call, in which parameters are made from then on."""
        called = self.scope.qualified(node.func) if isinstance(node, ir.Call) else None
        if not isinstance(node, ir.Call) or called != DEFAULT_DTYPE:
            return self.default
        return any(self.scope.qualified(given) in FLOAT16 for given in _given(node))

    def _moves(self, node: ir.Call) -> bool:
        """Whether a method of a model leaves the dtype of its parameters alone."""
        if last(node.func) == "to":
            return not node.starred and all(self._device(given) for given in _given(node))
        return last(node.func) in _HARMLESS | {"half"}

    def _device(self, node: ir.Expr) -> bool:
        if isinstance(node, ir.Const):
            return isinstance(node.value, (str, int, bool))
        called = self.scope.qualified(node.func) if isinstance(node, ir.Call) else None
        return called == DEVICE or last(node).lower() in _DEVICE

    def _harmed(self, node: object, half: set[str]) -> set[str]:
        """The models to which something may happen here that changes their parameters, or what the name stands for."""
        if not half or isinstance(node, ir.Function):
            return set()
        if _key(node) in half:
            return {_key(node)}
        if isinstance(node, ir.Attr) and node.name in _LOOKED_AT:
            return set()
        inner = list(children(node))
        found: set[str] = set()
        if isinstance(node, ir.Call):
            method = node.func if isinstance(node.func, ir.Attr) else None
            if _key(node.func) in half or (method and _key(method.owner) in half and self._moves(node)):
                inner = inner[1:]
            elif not method and last(node.func) in _LOOK:
                inner = []
            elif method and isinstance(method.owner, ir.Name):
                found = {name for name in half if name.startswith(f"{method.owner.name}.")}
        return found.union(*(self._harmed(child, half) for child in inner))


_ITERATES = frozenset({"parameters", "named_parameters"})
_PICKS = frozenset({"filter", "list", "tuple"})


def _whose(parameters: ir.Expr) -> ir.Expr | None:
    """The model whose parameters an expression gives, all or those that a condition picks."""
    if isinstance(parameters, ir.Comprehension):
        return _whose(parameters.source)
    if not isinstance(parameters, ir.Call) or parameters.keywords or parameters.starred:
        return None
    if isinstance(parameters.func, ir.Name) and parameters.func.name in _PICKS and parameters.args:
        return _whose(parameters.args[-1])
    whole = isinstance(parameters.func, ir.Attr) and parameters.func.name in _ITERATES and not parameters.args
    return parameters.func.owner if whole and isinstance(parameters.func, ir.Attr) else None


def _given(call: ir.Call) -> tuple[ir.Expr, ...]:
    return (*call.args, *(value for _, value in call.keywords))


def _base(node: object) -> object:
    """What a chain of method calls is called on."""
    while isinstance(node, ir.Call) and isinstance(node.func, ir.Attr):
        node = node.func.owner
    return node


def _bound(node: object) -> set[str]:
    """The names that a statement binds."""
    if isinstance(node, (ir.Assign, ir.Augment, ir.For)):
        target = node.target
        items = target.items if isinstance(target, ir.Display) else (target,)
        return {_key(item) for item in items} - {""}
    return {node.name} if isinstance(node, ir.Walrus) else set()


def _suites(node: ir.Stmt) -> Iterator[tuple[ir.Stmt, ...]]:
    if isinstance(node, ir.Try):
        yield node.body
        yield from node.handlers
        yield from (node.orelse, node.final)
    elif isinstance(node, (ir.If, ir.For, ir.While)):
        yield from (node.body, node.orelse)
