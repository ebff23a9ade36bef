"""How optimizers decay the weights that do not say so by their own name: apex 0.1, `ops/adam` of deepspeed 0.19."""

from __future__ import annotations

DECOUPLED = frozenset({"FusedAdam", "DeepSpeedCPUAdam"})
"""They decay as AdamW does unless told not to."""

MODES = ("adam_w_mode", "adamw_mode")
"""The arguments that tell them."""
