"""Hugging Face Accelerate 1.15: what it does stands in `accelerate.behaviour`."""

from __future__ import annotations

from amplint.dialects.account import Account
from amplint.dialects.dialect import Dialect, Live

ACCELERATE = Dialect(
    name="accelerate",
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
    spelling={
        "backward": "accelerator.backward(loss)",
        "clip": "accelerator.clip_grad_norm_(...)",
        "boundary": "accelerator.sync_gradients",
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
            schedules=("the engine its own, otherwise as without it", "accelerator.py, `_prepare_deepspeed`"),
            saves=("`accelerator.save_state`: the engine", "accelerator.py, `save_state`"),
        ),
    ),
)
