"""Hugging Face Accelerate 1.15: what it does stands in `accelerate.behaviour`."""

from __future__ import annotations

from amplint.dialects.dialect import Dialect, Live

ACCELERATE = Dialect(
    name="accelerate",
    behaviour="accelerate.behaviour",
    defines={
        "accelerate.Accelerator": "Accelerator",
        "accelerate.accelerator.Accelerator": "Accelerator",
        "accelerate.utils.GradientAccumulationPlugin": "GradientAccumulationPlugin",
        "accelerate.GradientAccumulationPlugin": "GradientAccumulationPlugin",
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
)
