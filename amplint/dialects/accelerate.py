"""Hugging Face Accelerate 1.15: what it does stands in `accelerate.behaviour`."""

from __future__ import annotations

from amplint.dialects.dialect import Dialect

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
)
