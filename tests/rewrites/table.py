"""All rewrites that keep the meaning of a training loop, by name."""

from __future__ import annotations

from collections.abc import Sequence

from tests.rewrites import bystanders, extraction, gating, holding, looping, naming, placing
from tests.rewrites.writing import Program, Rewrite


def formatted(program: Program) -> bool:
    """Only comments and the layout of the text are lost."""
    return True


REWRITES: dict[str, Rewrite] = {
    "formatted": formatted,
    "variables renamed": naming.variables,
    "parameters renamed": naming.arguments,
    "attributes renamed": naming.attributes,
    "functions renamed": naming.functions,
    "second names": naming.second_names,
    "bound methods": naming.bound_methods,
    "step in a function": extraction.function(extraction.step, "advance"),
    "step by keywords": extraction.function(extraction.step, "advance", keywords=True),
    "step in a closure": extraction.closure(extraction.step, "advance"),
    "step in a method": extraction.method(extraction.step, "advance", "updates"),
    "step in a partial": extraction.partial(extraction.step, "advance"),
    "step in another file": extraction.another_file(extraction.step, "advance", "stepping"),
    "step given a dataclass": extraction.dataclass_holder,
    "clip in a function": extraction.function(extraction.clip, "limit_gradients"),
    "clip in a method": extraction.method(extraction.clip, "limit_gradients", "limits"),
    "clip in another file": extraction.another_file(extraction.clip, "limit_gradients", "limiting"),
    "backward in a function": extraction.function(extraction.back, "go_back"),
    "backward in another file": extraction.another_file(extraction.back, "go_back", "backing"),
    "gated step in a function": extraction.function(extraction.gated, "advance_if_due"),
    "gated step in a method": extraction.method(extraction.gated, "advance_if_due", "updates"),
    "micro-step in a function": extraction.function(extraction.micro_step, "train_batch"),
    "micro-step in a method": extraction.method(extraction.micro_step, "train_batch", "engine"),
    "micro-step in another file": extraction.another_file(extraction.micro_step, "train_batch", "batches"),
    "gate in a function": extraction.gate("is_due"),
    "gate in a lambda": extraction.gate("is_due", as_lambda=True),
    "gate as a variable": gating.variable,
    "gate as an early variable": gating.early_variable,
    "gate set by an if": gating.conditional,
    "gate inverted with continue": gating.inverted,
    "gate in else": gating.in_else,
    "gate nested": gating.nested,
    "remainder turned round": gating.arithmetic,
    "counted in a variable": gating.counted("variable"),
    "counted in a dict": gating.counted("dict"),
    "counted in a list": gating.counted("list"),
    "counted in an object": gating.counted("object"),
    "next in while": looping.next_in_while,
    "sentinel in while": looping.sentinel_in_while,
    "range in while": looping.range_in_while,
    "through a generator": looping.generator,
    "loop in try": looping.in_try,
    "limit with break": looping.limited("break"),
    "limit with return": looping.limited("return"),
    "settings in a dict": holding.settings("dict"),
    "settings in a namespace": holding.settings("namespace"),
    "settings in a dataclass": holding.settings("dataclass"),
    "settings in a class": holding.settings("class"),
    "settings in a module": holding.settings("module"),
    "loss in a dict": holding.loss("dict"),
    "loss in a tuple": holding.loss("tuple"),
    "criterion of a class": holding.criterion_class,
    "loss in a function": holding.loss_function,
    "script in main": placing.main,
    "script in a function": placing.parameters,
    "script in a class": placing.trainer,
    **bystanders.ALL,
}


def rewritten(program: Program, names: Sequence[str]) -> Program | None:
    """A program after some rewrites, one after the other; None where one of them declines."""
    made = program.copied()
    return made if all(REWRITES[each](made) for each in names) else None
