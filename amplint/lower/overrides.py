"""Overrides of a trainer's `compute_loss`: what they do with the count over which the loss is due to be normalized."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from amplint.dialects import LOSS_ARGUMENTS, TRAINERS
from amplint.dialects.dialect import Normalization
from amplint.dialects.syntax import OF_RELEASES, TRAINER_LOOP
from amplint.flow import program as ir
from amplint.lower.added_means import added_mean
from amplint.lower.derived_classes import derived_classes
from amplint.lower.drivers import driven_by_hand, put_by_name, replaced
from amplint.lower.names import last, walk
from amplint.lower.repeated_divisions import COUNT, WINDOWS, divided_again
from amplint.lower.scopes import Scope
from amplint.protocol.events import Site
from amplint.protocol.facts import IN_A_LOOP, Fact

_SAYS = frozenset(
    {
        "loss_is_scaled_for_ga",
        "model_accepts_loss_kwargs",
        "accepts_loss_kwargs",
        "get_batch_samples",
        "_get_num_items_in_batch",
    }
)
"""A file that names one of these says itself who normalizes."""
_OLDER = "evaluation_strategy"
"""An argument of older releases: 4.41 announces that 4.46, the first that hands over the count, takes it no more."""
_PLAIN = frozenset({"override"})
_DRIVERS = frozenset({"training_step", *TRAINER_LOOP.own})


@dataclass(frozen=True)
class Lineage:
    """A trainer of the user's own: its classes, the derived one first, and the public class that they stand on."""

    classes: tuple[ir.Class, ...]
    public: str

    def method(self, name: str) -> ir.Function | None:
        """The method of the user's own that is called."""
        found = (node for klass in self.classes for node in klass.body if isinstance(node, ir.Function))
        return next((node for node in found if node.name == name), None)


class Overrides:
    """The overrides in a module."""

    def __init__(self, path: str, body: Iterable[ir.Stmt]) -> None:
        self.path = path
        self.classes: dict[str, ir.Class | None] = {}
        nodes = [node for statement in body for node in walk(statement)]
        for node in nodes:
            if isinstance(node, ir.Class):
                self.classes[node.name] = None if node.name in self.classes else node
        self.nodes = nodes
        named = {*map(_named, nodes), *(name for node in nodes for name in _keywords(node))}
        self.says_who_divides = bool(_SAYS & named)
        self.says = self.says_who_divides or bool(LOSS_ARGUMENTS & named)
        self.alone = any(_window_of_one(node) for node in nodes)
        self.older = any(_OLDER in _keywords(node) for node in nodes)
        self.asserts_older = any(map(_asserts_older, nodes))

    def of(self, klass: ir.Class, scope: Scope) -> Iterator[Fact]:
        """What the `compute_loss` of a class does with the count, if the class is a trainer."""
        lineage = self._lineage(klass, scope, ())
        method = next((node for node in klass.body if _is_override(node)), None)
        if lineage is None or not isinstance(method, ir.Function) or self._steps_itself(lineage, klass):
            return
        if not self.says:
            yield from self.again(method)
        said = with_the_count(method)
        usual = TRAINERS[lineage.public]
        settled = usual is Normalization.SETTLED or self.says or _divides(lineage) or self._of_plain_models(lineage)
        if said == "ignored" and settled:
            said = "settled"
        if said == "used" and not settled and (added := added_mean(method)) is not None:
            yield Fact(
                f"{lineage.public}.compute_loss", Site(self.path, *added.at), {COUNT: "added"}, "overrides", mild=True
            )
        mild = self.older or (said == "ignored" and (usual is Normalization.MODEL or self.alone))
        caller = lineage.method("training_step")
        if said == "missing" and caller is not None and not _takes_the_count(caller):
            method, said = caller, "missing before"
        yield Fact(f"{lineage.public}.compute_loss", Site(self.path, *method.at), {COUNT: said}, "overrides", mild=mild)

    def leaves_losses(self, made: ir.Expr, scope: Scope) -> bool:
        """Whether what is called makes a trainer whose own `compute_loss` calls the function that it is handed, and
        whose loop is the framework's."""
        public = scope.qualified(made)
        own = self.classes.get(made.name) if public is None and isinstance(made, ir.Name) else None
        lineage = self._lineage(own, scope, ()) if own is not None else None
        if lineage is not None and own is not None:
            public = None if _is_own(lineage) or self._steps_itself(lineage, own) else lineage.public
        elif driven_by_hand((node for node in self.nodes if isinstance(node, ir.Assign)), _DRIVERS):
            return False
        return public is not None and TRAINERS.get(public, Normalization.SETTLED) is not Normalization.SETTLED

    def again(self, method: ir.Function) -> Iterator[Fact]:
        """The division by which a loss is normalized once more."""
        found = divided_again(method)
        if found is not None:
            before = "by hand" if found.before == f"`{found.divisor}`" else f"by {found.before}"
            told: dict[int | str, object] = {"window": found.divisor, "again": before, "through": TRAINER_LOOP.name}
            yield Fact("divided", Site(self.path, *found.node.at), told, IN_A_LOOP)

    def _steps_itself(self, lineage: Lineage, klass: ir.Class) -> bool:
        """Whether another loop than the trainer's runs, which hands over the count as it likes, and divides or not."""
        puts = (node for node in self.nodes if isinstance(node, ir.Assign) or put_by_name(node, _DRIVERS))
        if self.asserts_older or driven_by_hand(puts, _DRIVERS) or replaced(lineage.classes, _DRIVERS):
            return True
        return replaced(derived_classes(self.path, self.nodes, klass), _DRIVERS)

    def _of_plain_models(self, lineage: Lineage) -> bool:
        """Whether every model that the module makes such a trainer with is of a class of its own whose `forward` takes
        no `**kwargs`: then the trainer divides (`Trainer.__init__`, `model_accepts_loss_kwargs`)."""
        names = {klass.name for klass in lineage.classes}
        calls = [node for node in self.nodes if isinstance(node, ir.Call) and last(node.func) in names]
        return bool(calls) and all(self._plain(_model(call)) for call in calls)

    def _plain(self, model: ir.Expr | None) -> bool:
        """Whether a model is made in this module, of a class whose `forward` takes no `**kwargs`."""
        if isinstance(model, ir.Name):
            bound = [
                node.value for node in self.nodes if isinstance(node, ir.Assign) and _named(node.target) == model.name
            ]
            return bool(bound) and all(isinstance(value, ir.Call) and self._plain(value) for value in bound)
        klass = self.classes.get(last(model.func)) if isinstance(model, ir.Call) else None
        found = (
            [node for node in klass.body if isinstance(node, ir.Function) and node.name == "forward"] if klass else []
        )
        return bool(found) and not any(param.star == "**" for node in found for param in node.params)

    def _lineage(self, klass: ir.Class, scope: Scope, derived: tuple[ir.Class, ...]) -> Lineage | None:
        """None where a base is not known: it may do anything."""
        chain = (*derived, klass)
        if len(klass.bases) != 1 or klass in derived:
            return None
        base = klass.bases[0]
        public = scope.qualified(base)
        if public is not None:
            return Lineage(chain, public) if public in TRAINERS else None
        own = self.classes.get(base.name) if isinstance(base, ir.Name) else None
        return None if own is None else self._lineage(own, scope, chain)


def _is_override(node: ir.Stmt) -> bool:
    plain = isinstance(node, ir.Function) and {last(decorator) for decorator in node.decorators} <= _PLAIN
    return plain and isinstance(node, ir.Function) and node.name == "compute_loss"


def _is_own(lineage: Lineage) -> bool:
    """Whether a trainer has a `compute_loss` or a `training_step` of its own."""
    return any(lineage.method(name) is not None for name in ("compute_loss", "training_step"))


def with_the_count(method: ir.Function) -> str:
    """`"missing"` from the signature, `"ignored"` in the body, or `"used"`."""
    by_name = any(param.name == COUNT for param in method.params)
    rest = next((param.name for param in method.params if param.star == "**"), None)
    if not by_name and rest is None:
        return "missing"
    wanted = COUNT if by_name else rest
    mentions = (part for statement in method.body for part in walk(statement))
    used = any(_named(part) == wanted or (isinstance(part, ir.Text) and str(wanted) in part.text) for part in mentions)
    return "used" if used else "ignored"


def _takes_the_count(method: ir.Function) -> bool:
    """Whether a `training_step` has a place for what it is handed after the model and the batch."""
    return len(method.params) > 3 or any(param.star for param in method.params)


def _model(call: ir.Call) -> ir.Expr | None:
    """The model that a trainer is made with."""
    return dict(call.keywords).get("model", call.args[0] if call.args else None)


def _divides(lineage: Lineage) -> bool:
    """Whether the window is read somewhere in the trainer: it divides by itself, or knows why not."""
    return any(_named(part) in WINDOWS for klass in lineage.classes for part in walk(klass))


def _named(node: object) -> str:
    return node.name if isinstance(node, (ir.Name, ir.Attr, ir.Function)) else ""


def _keywords(node: object) -> Iterable[str]:
    return (name for name, _ in node.keywords) if isinstance(node, ir.Call) else ()


def _asserts_older(node: object) -> bool:
    """Whether code insists on a release of transformers, and not on one that is new enough."""
    parts = walk(node.test) if isinstance(node, ir.Assert) else []
    library = any(isinstance(part, ir.Name) and part.name == OF_RELEASES for part in parts)
    library = library or any(isinstance(part, ir.Const) and part.value == OF_RELEASES for part in parts)
    version = any("version" in _named(part).lower() for part in parts)
    newer = any(isinstance(part, ir.Compare) and part.op in (">", ">=") for part in parts)
    return library and version and not newer


def _window_of_one(node: object) -> bool:
    """Whether a call is told that the window is one micro-batch."""
    given = node.keywords if isinstance(node, ir.Call) else ()
    return any(name in WINDOWS and isinstance(value, ir.Const) and value.value == 1 for name, value in given)
