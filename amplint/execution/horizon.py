"""What a scheduler's horizon counts: micro-batches, updates, or something that is not known."""

from __future__ import annotations

import re

from amplint.execution import symbols
from amplint.execution.arithmetic import tags_of, window_of
from amplint.execution.run import Run
from amplint.execution.values import Function, Length, Optimizer, Scheduler, Symbol, Value
from amplint.flow import program as ir
from amplint.protocol.events import Kind

_HORIZONS = ("T_max", "total_steps", "num_training_steps", "total_iters", "T_0", "steps_per_epoch")
_POSITIONS = {"CosineAnnealingLR": 1, "get_linear_schedule_with_warmup": 2, "get_cosine_schedule_with_warmup": 2}
_PER_WINDOW = re.compile(r"(?i)accum|update|optim")


def scheduler(run: Run, short: str, args: list[Value], keywords: dict[str, Value], at: ir.Span) -> Scheduler:
    """A new scheduler, its creation in the trace."""
    handed = args[0] if args else keywords.get("optimizer")
    if isinstance(handed, Symbol):
        handed = symbols.play(run, handed, "optimizer")
    made = Scheduler(run.name("scheduler"), handed if isinstance(handed, Optimizer) else None)
    made.unit = unit_of(run, short, args, keywords)
    run.emit(Kind.CREATE, at, made.optimizer, scheduler=made, detail={"unit": made.unit} if made.unit else {})
    return made


def unit_of(run: Run, short: str, args: list[Value], keywords: dict[str, Value]) -> str | None:
    """The unit of a scheduler's horizon, by what the number was computed from."""
    values = [keywords[name] for name in _HORIZONS if name in keywords]
    position = _POSITIONS.get(short)
    if position is not None and len(args) > position:
        values.append(args[position])
    if short == "LambdaLR":
        return _of_lambda(run, args[1] if len(args) > 1 else keywords.get("lr_lambda"))
    for value in values:
        tags = tags_of(value)
        if "batches" in tags:
            return "updates" if "divided" in tags else "micro-batches"
        if "multiplied" in tags:
            return "micro-batches"
        if isinstance(value, Symbol) and _PER_WINDOW.search(value.text):
            return "updates"
    return None


def _of_lambda(run: Run, value: Value) -> str | None:
    """A lambda that divides its step by the window counts micro-batches."""
    if not isinstance(value, Function):
        return None
    stack: list[object] = [value.node.body]
    while stack:
        node = stack.pop()
        if isinstance(node, ir.Binary):
            if node.op in ("/", "//") and _is_window(run, value, node.right):
                return "micro-batches"
            stack += [node.left, node.right]
        elif isinstance(node, ir.Call):
            stack += [*node.args]
        elif isinstance(node, tuple):
            stack += node
        elif isinstance(node, (ir.Return, ir.Assign)):
            stack.append(node.value)
    return None


def _is_window(run: Run, function: Function, node: ir.Expr) -> bool:
    from amplint.execution.expressions import evaluate

    value = evaluate(run, function.scope, node)
    return isinstance(value, Length) or window_of(run, value) is not None
