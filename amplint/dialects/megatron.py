"""Megatron-Core 0.20: what its schedules and optimizers do stands in `megatron.behaviour`."""

from __future__ import annotations

from amplint.dialects.account import Account
from amplint.dialects.dialect import CLIPS, Dialect, Live

_CORE = "megatron.core"
_TRAINING = ("megatron.training", "megatron.training.training")
_SCHEDULE = f"{_CORE}.optimizer_param_scheduler.OptimizerParamScheduler"
_OPTIMIZER = "megatron/core/optimizer/optimizer.py"
_SCHEDULES = ("megatron.core.pipeline_parallel", "megatron.core.pipeline_parallel.schedules")

MEGATRON = Dialect(
    name="megatron",
    behaviour="megatron.behaviour",
    defines={
        **{f"{place}.get_forward_backward_func": "get_forward_backward_func" for place in _SCHEDULES},
        f"{_CORE}.num_microbatches_calculator.get_num_microbatches": "get_num_microbatches",
        "megatron.training.get_num_microbatches": "get_num_microbatches",
        f"{_CORE}.optimizer.get_megatron_optimizer": "get_megatron_optimizer",
        _SCHEDULE: "ParamScheduler",
        f"{_CORE}.distributed.DistributedDataParallel": "ModelChunk",
        "megatron.training.training.setup_model_and_optimizer": "setup_model_and_optimizer",
        **{f"{place}.pretrain": "pretrain" for place in _TRAINING},
    },
    adopts={"forward_backward_func": "ForwardBackward"},
    needs=frozenset({"forward_backward_func", "get_forward_backward_func", "get_megatron_optimizer", "pretrain"}),
    seeds=frozenset({"forward_backward_func", "get_forward_backward_func", "pretrain"}),
    words=frozenset({"forward_backward_func", "def forward_step("}),
    live=Live(
        folders=("megatron",),
        whole=dict.fromkeys(
            (
                "forward_backward_no_pipelining",
                "forward_backward_pipelining_with_interleaving",
                "forward_backward_pipelining_without_interleaving",
            ),
            "num_microbatches",
        ),
        schedules={_SCHEDULE: ""},
        moves_by={_SCHEDULE: ("increment", "lr_decay_steps")},
    ),
    settings={"a scale of one's own": r"\bgrad_scale_func\b[\"']?\s*[=:](?!=)(?!.*\bscale_loss\b)(?!\s*None\b)"},
    spelling={
        "backward": "forward_backward_func(...)",
        "clip": "clip_grad",
    },
    remedies=dict.fromkeys(
        CLIPS, "set `clip_grad` in the configuration of the optimizer, and take this clip out: `optimizer.step()` clips"
    ),
    accounts=(
        Account(
            framework="Megatron-Core",
            version="megatron-core 0.20.0",
            divides=(
                "the schedule, by `num_microbatches` or by tokens",
                "megatron/core/pipeline_parallel/schedules.py, `forward_step_calc_loss`",
            ),
            scales=("`optimizer.scale_loss`, on the last stage", f"{_OPTIMIZER}, `scale_loss`"),
            unscales=("`optimizer.step`", f"{_OPTIMIZER}, `prepare_grads`"),
            gates=("the schedule runs the window, one step after it", f"{_OPTIMIZER}, `step`"),
            schedules=("the training loop, when the update was made", "megatron/training/training.py, `train_step`"),
            saves=("`state_dict` of the optimizer", f"{_OPTIMIZER}, `state_dict`"),
        ),
    ),
)
