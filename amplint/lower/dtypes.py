"""What a module says of the dtype of its models: which names stand for one, which statements cast or optimize them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from amplint.dialects import vocabulary as words
from amplint.dialects.methods import ASKS_A_MODEL, CASTS
from amplint.dialects.syntax import LOADED_AS
from amplint.dialects.vocabulary import within
from amplint.flow import program as ir
from amplint.lower.names import functions, last, reads, suites, walk

_PLAIN = CASTS - {"to"}
_NAMES = frozenset({"float16", "float32", "float64"}) | _PLAIN
_DEFAULT = frozenset({"set_default_dtype"})
_HALF = frozenset({"float16", "half"})
_COPIES, _OPTIMIZER = within(words.UPCASTING), within(words.OPTIMIZER_CLASS)


class Dtypes:
    """The dtypes of one module. `names`: those that are set to one somewhere."""

    def __init__(self, body: tuple[ir.Stmt, ...]) -> None:
        every = [node for statement in body for node in walk(statement)]
        chosen = ((node, value) for node in every if isinstance(node, ir.Assign) for value in _choices(node.value))
        self.names = frozenset(last(node.target) for node, value in chosen if last(value) in _NAMES) - {""}
        self._half = any(_speaks_of_half(node) for node in every)
        self._before = frozenset(_before_optimizers(body)) if self._half else frozenset[int]()

    def cast_in(self, node: ir.Stmt) -> bool:
        """Whether something is cast in place, as models are, to a dtype that may go by a name."""
        call = node.value if isinstance(node, ir.Do) else None
        if not isinstance(call, ir.Call) or not isinstance(call.func, ir.Attr):
            return False
        if call.func.name in _PLAIN | _DEFAULT:
            return True
        given = (*call.args, *(value for _, value in call.keywords))
        named = "dtype" in dict(call.keywords) or any(last(one) in _NAMES | self.names for one in given)
        return call.func.name == "to" and named

    def may_change(self, node: ir.Stmt) -> bool:
        """Whether a model that may be float16 is changed here, or put into other hands, before its optimizer is made;
        a copy in float32 may be made at any time."""
        if not self._half:
            return False
        if isinstance(node, ir.Assign) and isinstance(node.target, (ir.Attr, ir.Item)):
            return id(node) in self._before
        call = getattr(node, "value", None)
        if not isinstance(call, ir.Call) or last(call.func) in ASKS_A_MODEL:
            return False
        return (id(node) in self._before and isinstance(node, (ir.Do, ir.Assign))) or _COPIES(last(call.func))

    def optimized_in(self, node: ir.Stmt) -> set[str]:
        """The names that an optimizer is made with, where some model of the module may be float16."""
        call = node.value if self._half and isinstance(node, ir.Assign) else None
        if not isinstance(call, ir.Call) or not _makes_an_optimizer(call):
            return set()
        given = call.args[0] if call.args else dict(call.keywords).get("params")
        return reads(given) if given is not None else set()


def _makes_an_optimizer(call: ir.Call) -> bool:
    """Whether a class is called that is called like an optimizer."""
    name = last(call.func)
    return name[:1].isupper() and _OPTIMIZER(name)


def _before_optimizers(body: tuple[ir.Stmt, ...]) -> Iterator[int]:
    """The statements, by identity, after which an optimizer is made in the same function, or outside of all."""
    inner = [function.body for _, function in functions(body)]
    for own in (body, *inner):
        every = [node for node in _own(own) if isinstance(node, (ir.Do, ir.Assign))]
        calls = ((at, node.value) for at, node in enumerate(every) if isinstance(node.value, ir.Call))
        made = [at for at, call in calls if _makes_an_optimizer(call)]
        yield from map(id, every[: made[-1]] if made else ())


def _own(nodes: Iterable[ir.Stmt]) -> Iterator[ir.Stmt]:
    """The statements of a body, in order, without those of functions and classes in it."""
    for node in nodes:
        yield node
        if isinstance(node, (ir.If, ir.For, ir.While, ir.With, ir.Try)):
            yield from _own(suites(node))


def _speaks_of_half(node: object) -> bool:
    """Whether a model may be made float16 here: by name, or by a dtype that is set elsewhere."""
    if isinstance(node, ir.Call):
        method = last(node.func)
        return method in ("to", "from_pretrained") and not dict(node.keywords).keys().isdisjoint(LOADED_AS)
    return isinstance(node, (ir.Name, ir.Attr)) and node.name in _HALF


def _choices(value: ir.Expr) -> list[ir.Expr]:
    """The values that an expression chooses from."""
    return [*_choices(value.yes), *_choices(value.no)] if isinstance(value, ir.Choice) else [value]
