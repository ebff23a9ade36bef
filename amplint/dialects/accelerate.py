"""Hugging Face Accelerate 1.15: what it does stands in `accelerate.behaviour`."""

from __future__ import annotations

from amplint.dialects.account import Account
from amplint.dialects.dialect import Dialect, Holding, Live

_AT_BOUNDARY = "under `if accelerator.sync_gradients`"
_ZERO = "call `optimizer.zero_grad()` after `optimizer.step()`: prepared, both wait for the boundary"
_CLIP = f"clip between `accelerator.backward(loss)` and `optimizer.step()`, {_AT_BOUNDARY}"

_SAVES = frozenset({"save_state", "register_for_checkpointing"})
_HOLDING = Holding("accelerate", "mixed_precision", frozenset({"fp16"}), _SAVES)

ACCELERATE = Dialect(
    name="accelerate",
    holds=dict.fromkeys(("accelerate.Accelerator", "accelerate.accelerator.Accelerator"), _HOLDING),
    behaviour="accelerate.behaviour",
    defines={
        "accelerate.Accelerator": "Accelerator",
        "accelerate.accelerator.Accelerator": "Accelerator",
        "accelerate.utils.GradientAccumulationPlugin": "GradientAccumulationPlugin",
        "accelerate.GradientAccumulationPlugin": "GradientAccumulationPlugin",
        "accelerate.DeepSpeedPlugin": "DeepSpeedPlugin",
        "accelerate.utils.DeepSpeedPlugin": "DeepSpeedPlugin",
    },
    adopts={"accelerator": "Accelerator"},
    settings={
        "fp16": r"""\bmixed_precision["']?\s*(=|:|\s)\s*["']?fp16\b""",
        "another engine": r"(?i)\bdistributed_type\W?\s*[:=]\s*\W?(deepspeed|fsdp|megatron)|"
        r"\b(DeepSpeed|FullyShardedDataParallel|MegatronLM)Plugin\(",
    },
    spelling={
        "backward": "accelerator.backward(loss)",
        "clip": "accelerator.clip_grad_norm_(...)",
        "boundary": "accelerator.sync_gradients",
    },
    remedies={
        "backward-only-at-boundary": "call `accelerator.backward(loss)` on every micro-step: inside "
        "`accelerator.accumulate(model)` a prepared optimizer waits for the boundary by itself",
        "bypassed-framework-clip": f"call `accelerator.clip_grad_norm_(...)` instead, {_AT_BOUNDARY}",
        "clip-after-step": _CLIP,
        "clip-before-backward": _CLIP,
        "clip-per-micro-step": f"clip once per window, {_AT_BOUNDARY}",
        "double-loss-division": "leave the division to `accelerator.backward(loss)`",
        "forward-bypasses-ddp": "call what `accelerator.prepare` returned: in several processes that is a "
        "DistributedDataParallel",
        "ema-per-micro-step": f"update the average {_AT_BOUNDARY}",
        "repeated-unscale": "let `accelerator.clip_grad_norm_(...)` unscale, in one call per window for all "
        f"parameters, {_AT_BOUNDARY}",
        "scaled-gradient-norm": f"use the norm that `accelerator.clip_grad_norm_(...)` returns {_AT_BOUNDARY}: it "
        'unscales first, and with `float("inf")` it clips nothing',
        "scaler-not-saved": "save `accelerator.scaler.state_dict()` too, or all by `accelerator.save_state(...)`",
        "scaler-update-order": "take this update out: `optimizer.step()` updates the scaler",
        "scaler-with-bfloat16": 'give the Accelerator `mixed_precision="bf16"`',
        "scheduler-on-skipped-step": "hand it to `accelerator.prepare`, or step it only if "
        "`accelerator.optimizer_step_was_skipped` is False",
        "scheduler-per-micro-step": f"step it {_AT_BOUNDARY}, or hand it to `accelerator.prepare`",
        "step-bypasses-scaler": "step the optimizer that `accelerator.prepare` returns",
        "step-per-micro-step": "step only on the micro-step that completes the window: inside "
        "`accelerator.accumulate(model)` a prepared optimizer does so by itself",
        "zero-grad-before-step": _ZERO,
        "zero-grad-per-micro-step": _ZERO,
    },
    live=Live(
        folders=("accelerate",),
        windows={"backward": "gradient_accumulation_steps"},
        context=("accelerator.accumulate(model)", "step"),
    ),
    accounts=(
        Account(
            framework="Accelerate",
            version="accelerate 1.15.0",
            divides=("`accelerator.backward`", "accelerator.py, `backward`"),
            scales=("`accelerator.backward`", "accelerator.py, `backward`"),
            unscales=("`accelerator.clip_grad_norm_`", "accelerator.py, `clip_grad_norm_`"),
            gates=("the prepared optimizer, in `accumulate`", "optimizer.py, `step`, `zero_grad`"),
            schedules=("you; prepared, it waits for the boundary and steps once per process", "scheduler.py, `step`"),
            saves=("`accelerator.save_state`", "checkpointing.py, `save_accelerator_state`"),
        ),
        Account(
            framework="Accelerate, with a DeepSpeedPlugin",
            version="accelerate 1.15.0",
            divides=("`accelerator.backward`: the engine", "utils/deepspeed.py, `DeepSpeedEngineWrapper.backward`"),
            scales=("`accelerator.backward`: the engine", "utils/deepspeed.py, `DeepSpeedEngineWrapper.backward`"),
            unscales=(
                "the engine, for its own clip; a call only reads",
                "accelerator.py, `clip_grad_norm_`",
            ),
            gates=("`accelerator.backward` steps and zeroes", "utils/deepspeed.py, `DeepSpeedOptimizerWrapper`"),
            schedules=("you, as without it; the engine its own", "accelerator.py, `_prepare_deepspeed`"),
            saves=("`accelerator.save_state`: the engine", "accelerator.py, `save_state`"),
        ),
    ),
)
