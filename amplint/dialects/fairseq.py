"""fairseq: what its optimizers do stands in `fairseq.behaviour`; its trainer calls `train_step` of a task."""

from __future__ import annotations

from amplint.dialects.account import Account
from amplint.dialects.dialect import Dialect, Loop

_HALF = "fairseq/optim/fp16_optimizer.py"
_NAMES = {
    "FP16Optimizer": "HalfOptimizer",
    "MemoryEfficientFP16Optimizer": "HalfOptimizer",
    "AMPOptimizer": "AMPOptimizer",
    "build_optimizer": "build_optimizer",
}
_MODULES = ("fp16_optimizer", "amp_optimizer")
_TASK = Loop(
    name="the trainer",
    micro_step=frozenset({"train_step"}),
    returns=frozenset(),
    keeps={},
    backward="optimizer.backward(loss)",
)
"""`fairseq/trainer.py`, `train_step`, hands the optimizer to `train_step` of the task, for every micro-batch, and later
takes out the scale that its `backward` has put in (`fairseq/tasks/fairseq_task.py`, `train_step`)."""

FAIRSEQ = Dialect(
    name="fairseq",
    behaviour="fairseq.behaviour",
    defines={
        f"fairseq.optim.{place}{name}": made
        for name, made in _NAMES.items()
        for place in ("", *(f"{module}." for module in _MODULES))
    },
    loops={
        f"fairseq.tasks.{place}{name}": _TASK
        for name in ("FairseqTask", "LegacyFairseqTask")
        for place in ("", "fairseq_task.")
    }
    | {f"fairseq.tasks.{place}TranslationTask": _TASK for place in ("", "translation.")},
    needs=frozenset({*_NAMES, "multiply_grads"}),
    words=frozenset({"def train_step(", ".multiply_grads("}),
    seeds=frozenset({"multiply_grads"}),
    spelling={"backward": "optimizer.backward(loss)", "clip": "optimizer.clip_grad_norm(max_norm)"},
    accounts=(
        Account(
            framework="fairseq",
            version="fairseq 3d262bb",
            divides=("the trainer, the summed gradients by the sample size", "fairseq/trainer.py, `train_step`"),
            scales=("`optimizer.backward`", f"{_HALF}, `backward`"),
            unscales=("`clip_grad_norm`, with the factor of the samples", f"{_HALF}, `clip_grad_norm`"),
            gates=("one `train_step` is a window", "fairseq/trainer.py, `train_step`"),
            schedules=("the trainer, when the update was made", "fairseq/trainer.py, `lr_step_update`"),
            saves=("`state_dict` of the optimizer", f"{_HALF}, `state_dict`"),
        ),
    ),
)
