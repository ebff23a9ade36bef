"""DeepSpeed 0.19: what its engine does stands in `deepspeed.behaviour`."""

from __future__ import annotations

from amplint.dialects.dialect import Dialect, Live, Role

DEEPSPEED = Dialect(
    name="deepspeed",
    behaviour="deepspeed.behaviour",
    makes={"deepspeed.ops.adam.*": Role.OPTIMIZER, "deepspeed.ops.lamb.*": Role.OPTIMIZER},
    defines={"deepspeed.initialize": "initialize", "deepspeed.DeepSpeedEngine": "Engine"},
    adopts={"model_engine": "Engine"},
    shape={"Engine": ("model", frozenset({"backward", "step"}))},
    live=Live(folders=("deepspeed",), windows={"backward": "gradient_accumulation_steps"}),
    spelling={"backward": "engine.backward(loss)", "clip": "`gradient_clipping` of the DeepSpeed configuration"},
)
