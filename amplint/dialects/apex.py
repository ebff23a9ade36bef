"""NVIDIA Apex amp (until its removal in 2025) and the fused optimizers: `apex.behaviour`."""

from __future__ import annotations

from amplint.dialects.account import Account
from amplint.dialects.dialect import Dialect, Holding, Live, Role

_CONTEXT = "with amp.scale_loss(loss, optimizer) as scaled:"
_NO_SCALER = "take the GradScaler out: `amp.scale_loss` scales and unscales, and an overflow skips `optimizer.step()`"
_HOLDING = Holding(
    "apex", "opt_level", frozenset({"O1", "O2"}), frozenset({"apex.amp.state_dict"}), usual=True, fixed="loss_scale"
)

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
    remedies={
        "bypassed-framework-backward": f"back-propagate what the block hands out: `{_CONTEXT} scaled.backward()`",
        "clip-before-unscale": "clip after the block of `amp.scale_loss`, which unscales the gradients at its end",
        "discarded-scaled-loss": f"back-propagate what the block hands out: `{_CONTEXT} scaled.backward()`",
        "repeated-unscale": _NO_SCALER,
        "scaler-not-saved": "save `amp.state_dict()` too, and load it again after `amp.initialize`",
        "unscaled-backward": _NO_SCALER,
    },
    holds={"apex.amp.initialize": _HOLDING},
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
