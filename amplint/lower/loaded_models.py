"""Models that were loaded in half precision as a whole and are trained by a trainer that was asked for mixed precision.

transformers 5.23: `from_pretrained(dtype=...)`, formerly `torch_dtype`, casts all parameters, and `Trainer` leaves them
so (`transformers/trainer.py`). Followed along the names of one body; whatever else happens to the model, an adapter for
one, makes it unknown.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from amplint.dialects import TRAINERS
from amplint.dialects.syntax import ADAPTERS, ARGUMENTS, BFLOAT16, FLOAT16, LOADED_AS, LOADERS
from amplint.flow import program as ir
from amplint.lower.names import children, functions, says, walk
from amplint.lower.scopes import Scope
from amplint.protocol.events import Site
from amplint.protocol.facts import HALF_LOADED, Fact

Body = tuple[ir.Stmt, ...]
_HALF = dict.fromkeys(FLOAT16, "float16") | dict.fromkeys(BFLOAT16, "bfloat16")
_HALF |= {name.rpartition(".")[2]: said for name, said in _HALF.items()}
_HARMLESS = frozenset(
    """cuda eval train config device generation_config gradient_checkpointing_enable name_or_path num_parameters
    resize_token_embeddings save_pretrained""".split()
)


def loaded_models(path: str, body: Body) -> Iterator[Fact]:
    """Where a trainer's arguments ask for mixed precision, though its model was loaded in half precision."""
    outer = Scope.of_module(body)
    yield from _Trainers(path, outer, body).facts()
    for _, function in functions(body):
        inner = outer.inside(function.body, (param.name for param in function.params))
        yield from _Trainers(path, inner, function.body).facts()


class _Trainers:
    """The trainers that one body makes."""

    def __init__(self, path: str, scope: Scope, body: Body) -> None:
        self.path, self.scope, self.body = path, scope, body

    def facts(self) -> Iterator[Fact]:
        for call in _own_calls(self.body):
            given = {name: self.scope.value(value) for name, value in call.keywords}
            given |= dict(zip(("model", "args"), map(self.scope.value, call.args), strict=False))
            model, asked = given.get("model"), given.get("args")
            if not self._trains(call, given) or not isinstance(model, ir.Call) or not isinstance(asked, ir.Call):
                continue
            flag, dtype = self._flag(asked), loaded_in(self.scope, model)
            handed = (*call.args[:1], *dict(call.keywords).values())
            names = [node for node in handed if self.scope.value(node) is model and node is not model]
            if flag and dtype and all(isinstance(node, ir.Name) and self._untouched(node.name, call) for node in names):
                yield Fact(HALF_LOADED, Site(self.path, *asked.at), {"dtype": dtype, "flag": flag})

    def _trains(self, call: ir.Call, given: dict[str, ir.Expr]) -> bool:
        """Whether a trainer is made that has something to train on, and makes no adapter."""
        trainer = (self.scope.qualified(call.func) or "") in TRAINERS and not call.starred
        return trainer and "train_dataset" in given and not any(ADAPTERS.search(name) for name in given)

    def _flag(self, asked: ir.Call) -> str:
        """The mixed precision that a trainer's arguments certainly ask for; empty for none, or for both."""
        library = (self.scope.qualified(asked.func) or "").partition(".")[0]
        on = [name for name, value in asked.keywords if says(value, True)]
        flags = [name for name in on if name in ("fp16", "bf16")]
        return flags[0] if library in ARGUMENTS and not asked.starred and len(flags) == 1 else ""

    def _untouched(self, name: str, trainer: ir.Call) -> bool:
        """Whether nothing happens to a model, by its name, that changes its parameters or what the name stands for."""
        nodes = [node for statement in self.body for node in walk(statement)]
        if any(isinstance(node, ir.Text) and re.search(rf"\b{name}\b", node.text) for node in nodes):
            return False
        mentioned = sum(isinstance(node, ir.Name) and node.name == name for node in nodes)
        bound = sum(isinstance(node, ir.Assign) and _is(node.target, name) for node in nodes)
        read = sum(isinstance(node, ir.Attr) and node.name in _HARMLESS and _is(node.owner, name) for node in nodes)
        handed = sum(_is(node, name) for node in (*trainer.args, *(value for _, value in trainer.keywords)))
        return bound == 1 and mentioned == bound + read + handed


def loaded_in(scope: Scope, made: ir.Call) -> str:
    """The half precision in which a model is loaded whole, by what transformers and diffusers have in common; empty
    where that is not known (`from_pretrained` in `models/modeling_utils.py` of diffusers 0.35 casts as well)."""
    public = scope.qualified(made.func) or ""
    given = dict(made.keywords)
    if not public.startswith(LOADERS) or not public.endswith(".from_pretrained") or made.starred:
        return ""
    value = next((given[name] for name in LOADED_AS if name in given), None)
    if value is None or any(ADAPTERS.search(name) for name in given):
        return ""
    value = scope.value(value)
    text = value.value if isinstance(value, ir.Const) else scope.qualified(value)
    return _HALF.get(str(text), "")


def _is(node: object, name: str) -> bool:
    return isinstance(node, ir.Name) and node.name == name


def _own_calls(body: Body) -> Iterator[ir.Call]:
    """The calls in a body, without those in its functions and classes."""
    waiting: list[object] = list(body)
    while waiting:
        node = waiting.pop()
        if isinstance(node, ir.Call):
            yield node
        if not isinstance(node, (ir.Function, ir.Class, ir.Lambda)):
            waiting += children(node)
