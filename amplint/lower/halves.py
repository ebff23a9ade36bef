"""Where a number of the text meets a tensor that is known to be float16.

A tensor is half if it was made or cast so, or if it comes from an operation that autocast runs in float16 in a region
of that dtype; what keeps the dtype passes it on. Everything else is not known, and nothing is said of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from enum import IntEnum

from amplint.dialects.public import computes
from amplint.dialects.syntax import AUTOCASTS, AUTOCASTS_OF_ANY, AUTOCASTS_OF_CUDA, FLOAT16, LOWERED
from amplint.flow import program as ir
from amplint.lower.names import children, reads, says
from amplint.lower.scopes import Scope, bound_in


class Half(IntEnum):
    """Whether a tensor is float16: not known, under some setting of a dtype, surely."""

    UNKNOWN = 0
    MAYBE = 1
    YES = 2


Env = dict[str, Half]
Meeting = tuple[ir.Node, str, ir.Expr, Half]
"""Where a number meets a half tensor, the operation, the number."""

_METHODS = frozenset({"mm", "bmm", "matmul", "addmm", "baddbmm"})
"""Those of them that are methods too."""
_KEEPS = frozenset(
    """abs clamp clamp_ clamp_min clamp_max clone contiguous cuda detach expand flatten masked_fill masked_fill_ permute
    relu reshape sigmoid sqrt squeeze t tanh transpose unsqueeze view""".split()
)
_FILLS = {"masked_fill": 1, "masked_fill_": 1, "fill_": 0, "new_full": 1, "clamp": 0, "clamp_": 0, "clamp_min": 0}
_KEYWORDS = frozenset({"value", "fill_value", "min", "max"})


class Halves:
    """Follows the dtypes of local names through one body, statement by statement."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope

    def body(self, nodes: Iterable[ir.Stmt], env: Env, region: Half = Half.UNKNOWN) -> Iterator[Meeting]:
        """The meetings in some statements; `env` is what is known after them."""
        for node in nodes:
            yield from self._statement(node, env, region)

    def _statement(self, node: ir.Stmt, env: Env, region: Half) -> Iterator[Meeting]:
        if isinstance(node, (ir.Function, ir.Class)):
            env.pop(node.name, None)
        elif isinstance(node, ir.With):
            yield from self.body(node.body, env, self._region(node.context, region))
        elif isinstance(node, ir.If):
            yield from self._meetings(node.test, env, region)
            yes, no = dict(env), dict(env)
            yield from self.body(node.body, yes, region)
            yield from self.body(node.orelse, no, region)
            _replace(env, {name: min(half, no.get(name, Half.UNKNOWN)) for name, half in yes.items()})
        elif isinstance(node, (ir.For, ir.While, ir.Try)):
            changed = bound_in((node,))
            _replace(env, {name: half for name, half in env.items() if name not in changed})
            inner = [child for child in children(node) if isinstance(child, ir.STATEMENTS)]
            yield from self.body(inner, dict(env), region)  # type: ignore[arg-type]
        else:
            yield from self._simple(node, env, region)

    def _simple(self, node: ir.Stmt, env: Env, region: Half) -> Iterator[Meeting]:
        for child in children(node):
            yield from self._meetings(child, env, region)
        if isinstance(node, ir.Assign) and isinstance(node.target, ir.Name):
            env[node.target.name] = self.half(node.value, env, region)
        elif isinstance(node, (ir.Assign, ir.Augment)):
            for name in bound_in((node,)):
                env.pop(name, None)

    def _region(self, context: ir.Expr, outer: Half) -> Half:
        """How sure it is that matrix products run in float16 inside a context."""
        called = self.scope.qualified(context.func) if isinstance(context, ir.Call) else None
        if not isinstance(context, ir.Call) or called not in AUTOCASTS:
            plain = isinstance(context, ir.Call) and not any("autocast" in name for name in reads(context))
            return outer if plain else Half.UNKNOWN
        keywords = dict(context.keywords)
        first = context.args[0] if context.args else None
        enabled = keywords.get("enabled", first if called in AUTOCASTS_OF_CUDA else None)
        dtype = keywords.get("dtype", context.args[1] if len(context.args) > 1 else None)
        device = first if called in AUTOCASTS_OF_ANY else None
        device = keywords.get("device_type", device)
        on_cuda = called in AUTOCASTS_OF_CUDA or (isinstance(device, ir.Const) and device.value == "cuda")
        surely = self._dtype(dtype) if dtype is not None else Half(2 * on_cuda)
        if enabled is None or says(enabled, True):
            return Half.UNKNOWN if context.starred else surely
        return Half.UNKNOWN if isinstance(enabled, ir.Const) else min(surely, Half.MAYBE)

    def _dtype(self, node: ir.Expr) -> Half:
        possible = self.scope.possible(node)
        if possible and possible <= FLOAT16:
            return Half.YES
        return Half.MAYBE if possible & FLOAT16 else Half.UNKNOWN

    def half(self, node: object, env: Env, region: Half) -> Half:
        """Whether an expression is a float16 tensor."""
        if isinstance(node, ir.Name):
            return env.get(node.name, Half.UNKNOWN)
        if isinstance(node, ir.Item):
            return self.half(node.owner, env, region)
        if isinstance(node, ir.Binary):
            return self._operation(node, env, region)
        if not isinstance(node, ir.Call):
            return Half.UNKNOWN
        called = self.scope.qualified(node.func)
        if called is not None:
            return self._function(called, node, env, region)
        return self._method(node, node.func, env, region) if isinstance(node.func, ir.Attr) else Half.UNKNOWN

    def _operation(self, node: ir.Binary, env: Env, region: Half) -> Half:
        if node.op == "@":
            return region or min(self.half(node.left, env, region), self.half(node.right, env, region))
        sides = [side for side in (node.left, node.right) if not _number(side)]
        return min((self.half(side, env, region) for side in sides), default=Half.UNKNOWN)

    def _function(self, called: str, node: ir.Call, env: Env, region: Half) -> Half:
        if called in LOWERED:
            return region
        dtype = dict(node.keywords).get("dtype")
        if dtype is not None and computes(called):
            return self._dtype(dtype)
        if called.rpartition(".")[2] in _KEEPS and node.args:
            return self.half(node.args[0], env, region)
        return Half.UNKNOWN

    def _method(self, node: ir.Call, func: ir.Attr, env: Env, region: Half) -> Half:
        if func.name == "half" and not node.args:
            return Half.YES
        if func.name in ("to", "type"):
            given = [*node.args[:1], *(value for name, value in node.keywords if name == "dtype")]
            return max((self._dtype(value) for value in given), default=Half.UNKNOWN)
        if func.name in _METHODS and region:
            return region
        return self.half(func.owner, env, region) if func.name in _KEEPS else Half.UNKNOWN

    def _meetings(self, node: object, env: Env, region: Half) -> Iterator[Meeting]:
        if isinstance(node, (ir.Lambda, ir.Comprehension)):
            return
        for child in children(node):
            yield from self._meetings(child, env, region)
        if isinstance(node, ir.Binary) and node.op in ("+", "-"):
            for number, other in ((node.left, node.right), (node.right, node.left)):
                if _number(number) and (half := self.half(other, env, region)):
                    yield node, node.op, number, half
        elif isinstance(node, ir.Call) and isinstance(node.func, ir.Attr) and node.func.name in _FILLS:
            half = self.half(node.func.owner, env, region)
            at = _FILLS[node.func.name]
            given = [*node.args[at : at + 1], *(value for name, value in node.keywords if name in _KEYWORDS)]
            yield from ((node, node.func.name, value, half) for value in given if half)


def _number(node: object) -> bool:
    """Whether an expression is a number, or arithmetic of numbers."""
    if isinstance(node, ir.Binary):
        return _number(node.left) and _number(node.right)
    return isinstance(node, ir.Const) and isinstance(node.value, (int, float))


def _replace(env: Env, known: Env) -> None:
    env.clear()
    env.update(known)
