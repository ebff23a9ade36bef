"""NVIDIA Apex' FP16_Optimizer (until its removal in 2025): `fp16_optimizer.behaviour`."""

from __future__ import annotations

from amplint.dialects.account import Account
from amplint.dialects.dialect import Dialect

_PLACES = ("apex.fp16_utils", "apex.fp16_utils.fp16_optimizer")

FP16_OPTIMIZER = Dialect(
    name="fp16_optimizer",
    behaviour="fp16_optimizer.behaviour",
    defines={f"{place}.FP16_Optimizer": "FP16_Optimizer" for place in _PLACES},
    spelling={"backward": "optimizer.backward(loss)", "clip": "optimizer.clip_master_grads(max_norm)"},
    accounts=(
        Account(
            framework="Apex FP16_Optimizer",
            version="apex e13873d",
            divides=("you", "apex/fp16_utils/fp16_optimizer.py, `backward`"),
            scales=("`optimizer.backward`", "apex/fp16_utils/fp16_optimizer.py, `backward`"),
            unscales=("`optimizer.backward`", "apex/fp16_utils/fp16_optimizer.py, `update_master_grads`"),
            gates=("you", "apex/fp16_utils/fp16_optimizer.py, `step`"),
            schedules=("you", "apex/fp16_utils/fp16_optimizer.py, `step`"),
            saves=("`optimizer.state_dict()`", "apex/fp16_utils/fp16_optimizer.py, `state_dict`"),
        ),
    ),
)
