"""NVIDIA Apex amp (until its removal in 2025) and the fused optimizers: `apex.behaviour`."""

from __future__ import annotations

from amplint.dialects.account import Account
from amplint.dialects.dialect import Dialect, Live, Role

APEX = Dialect(
    name="apex",
    behaviour="apex.behaviour",
    makes={"apex.optimizers.*": Role.OPTIMIZER},
    defines={
        "apex.amp.initialize": "initialize",
        "apex.amp.scale_loss": "scale_loss",
        "apex.amp.master_params": "master_params",
        "apex.amp.state_dict": "state_dict",
        "apex.amp.load_state_dict": "load_state_dict",
    },
    live=Live(folders=("apex",)),
    transparent=frozenset({"apex.parallel.DistributedDataParallel", "apex.parallel.convert_syncbn_model"}),
    accounts=(
        Account(
            framework="Apex amp",
            version="apex e13873d",
            divides=("you", "apex/amp/handle.py, `scale_loss`"),
            scales=("`amp.scale_loss`", "apex/amp/handle.py, `scale_loss`"),
            unscales=("the exit of `amp.scale_loss`", "apex/amp/handle.py, `scale_loss`"),
            gates=("you", "apex/amp/handle.py, `scale_loss`"),
            schedules=("you", "apex/amp/handle.py, `scale_loss`"),
            saves=("you, `amp.state_dict()`", "apex/amp/frontend.py, `state_dict`"),
        ),
    ),
)
