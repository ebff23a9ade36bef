"""DeepSpeed 0.19: what its engine does stands in `deepspeed.behaviour`."""

from __future__ import annotations

from amplint.dialects.account import Account
from amplint.dialects.dialect import CLIPS, Dialect, Live, Role

_SCHEDULES = "deepspeed.runtime.lr_schedules"
_CLIP = "set `gradient_clipping` in the configuration of DeepSpeed, and take this clip out: `engine.step()` clips"
_ZEROES = "take it out: `engine.step()` zeroes the gradients of a window that it has used"
_AT_BOUNDARY = "where `engine.is_gradient_accumulation_boundary()` is true before `engine.step()`"

DEEPSPEED = Dialect(
    name="deepspeed",
    behaviour="deepspeed.behaviour",
    makes={"deepspeed.ops.adam.*": Role.OPTIMIZER, "deepspeed.ops.lamb.*": Role.OPTIMIZER},
    defines={"deepspeed.initialize": "initialize", "deepspeed.DeepSpeedEngine": "Engine"},
    transparent=frozenset({"deepspeed.add_config_arguments"}),
    documents={"deepspeed.initialize": frozenset({"config", "config_params"})},
    adopts={"model_engine": "Engine"},
    shape={"Engine": ("model", frozenset({"backward", "step"}))},
    live=Live(
        folders=("deepspeed",),
        windows={"backward": "gradient_accumulation_steps"},
        counts={"step": "gradient_accumulation_steps"},
        counting={"managed_gradient_accumulation": True, "_is_gradient_accumulation_boundary": None},
        moves={"_take_model_step": "`engine.step()`"},
        plain={"step": ("_support_torch_style_backward", "gradient_accumulation_steps")},
        sets_up=frozenset({"initialize"}),
        schedules={
            **dict.fromkeys((f"{_SCHEDULES}.LRRangeTest", f"{_SCHEDULES}.OneCycle"), "batch_iteration"),
            **dict.fromkeys((f"{_SCHEDULES}.WarmupLR", f"{_SCHEDULES}.WarmupCosineLR"), "last_batch_iteration"),
        },
    ),
    spelling={"backward": "engine.backward(loss)", "clip": "gradient_clipping", "step": "engine.step()"},
    remedies={
        **dict.fromkeys(CLIPS, _CLIP),
        "double-loss-division": "leave the division to `engine.backward(loss)`",
        "float16-without-scaler": "set `zero_optimization.stage` to 1, 2 or 3, or use bf16: at stage 0 "
        "`engine.backward` does not scale, though `engine.step()` divides by the loss scale (DeepSpeed 0.19.8)",
        "ema-per-micro-step": f"update the average {_AT_BOUNDARY}",
        "missing-step": "call `engine.step()` after each `engine.backward(loss)`",
        "scaled-gradient-norm": "use `engine.get_global_grad_norm()` after `engine.step()`",
        "scheduler-on-skipped-step": "hand it to `deepspeed.initialize(..., lr_scheduler=scheduler)`: `engine.step()` "
        "moves it on, unless the step was skipped",
        "scheduler-per-micro-step": "hand it to `deepspeed.initialize(..., lr_scheduler=scheduler)`: `engine.step()` "
        "moves it on once per window",
        **dict.fromkeys(("zero-grad-before-step", "zero-grad-per-micro-step"), _ZEROES),
    },
    accounts=(
        Account(
            framework="DeepSpeed",
            version="deepspeed 0.19.8",
            divides=("`engine.backward`", "deepspeed/runtime/engine.py, `backward`"),
            scales=("`engine.backward`, at ZeRO 1 to 3", "deepspeed/runtime/engine.py, `backward`"),
            unscales=("`engine.step`", "deepspeed/runtime/zero/stage_1_and_2.py, `unscale_and_clip_grads`"),
            gates=(
                "`engine.step`, called on every micro-step; you, where `managed_gradient_accumulation` is false",
                "deepspeed/runtime/engine.py, `step`",
            ),
            schedules=(
                "`engine.step`: the one that `initialize` returns",
                "deepspeed/runtime/engine.py, `_take_model_step`",
            ),
            saves=("`engine.save_checkpoint`", "deepspeed/runtime/engine.py, `save_checkpoint`"),
        ),
    ),
)
