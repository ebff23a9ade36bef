"""timm 1.0: what its NativeScaler does stands in `timm.behaviour`."""

from __future__ import annotations

from amplint.dialects.account import Account
from amplint.dialects.dialect import Dialect, Role

_OPTIMIZERS = """
    create_optimizer create_optimizer_v2 AdaBelief Adafactor Adahessian AdamP Adan Adopt Lamb Lars Lion MADGRAD NAdamW
    NvNovoGrad RMSpropTF SGDP SGDW Adam AdamW SGD
""".split()

TIMM = Dialect(
    name="timm",
    behaviour="timm.behaviour",
    defines={f"timm.utils.{place}NativeScaler": "NativeScaler" for place in ("", "cuda.")},
    makes={f"timm.optim.{place}{name}": Role.OPTIMIZER for name in _OPTIMIZERS for place in ("", "optim_factory.")},
    called={"LossScaler": ("scaler", frozenset({"parameters"}))},
    seeds=frozenset({"NativeScaler", "loss_scaler"}),
    words=frozenset({"NativeScaler", "loss_scaler("}),
    accounts=(
        Account(
            framework="timm, `NativeScaler`",
            version="timm 1.0.29",
            divides=("you", "timm/utils/cuda.py, `NativeScaler.__call__`"),
            scales=("the call", "timm/utils/cuda.py, `NativeScaler.__call__`"),
            unscales=("the call, for its own `clip_grad`", "timm/utils/cuda.py, `NativeScaler.__call__`"),
            gates=("you: `need_update`; zeroing is yours", "timm/utils/cuda.py, `NativeScaler.__call__`"),
            schedules=("you, `step_update(num_updates)`", "timm/scheduler/scheduler.py, `step_update`"),
            saves=("you, as `amp_scaler`", "timm/utils/checkpoint_saver.py, `_save`"),
        ),
    ),
)
