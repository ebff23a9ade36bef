"""Lightning Fabric 2.6: `fabric.behaviour`."""

from __future__ import annotations

from amplint.dialects.account import Account
from amplint.dialects.dialect import Dialect, Live
from amplint.dialects.lightning import LOST, SCALES, TESTS

_CLIP = "`fabric.clip_gradients(model, optimizer, max_norm=..., error_if_nonfinite=False)`"

FABRIC = Dialect(
    name="fabric",
    behaviour="fabric.behaviour",
    defines={
        "lightning.Fabric": "Fabric",
        "lightning.fabric.Fabric": "Fabric",
        "lightning.fabric.fabric.Fabric": "Fabric",
        "lightning_fabric.Fabric": "Fabric",
    },
    adopts={"fabric": "Fabric"},
    settings={
        "16-mixed": SCALES,
        "a true precision": r"""\bFabric\((?:[^()]|\([^()]*\))*?\bprecision\s*=\s*["']?(32|64|bf16-true|16-true)""",
        "a backward of its own": r"""["'](16|bf16)-mixed["']|\bstrategy["']?\s*[:=]\s*["']?(deepspeed|fsdp)""",
    },
    unasked=TESTS,
    spelling={"backward": "fabric.backward(loss)", "clip": "fabric.clip_gradients(...)", "lost": LOST},
    remedies={
        "bypassed-framework-clip": f"call {_CLIP} instead",
        "clip-raises-on-overflow": "pass `error_if_nonfinite=False`: the scaler skips the step by itself",
        "missing-no-sync": "run all micro-steps but the last of each window, forward and backward, in "
        "`fabric.no_backward_sync(model, enabled=...)`",
        "no-sync-on-boundary": "let `enabled` of `fabric.no_backward_sync` be false on the micro-step that completes "
        "the window",
        "repeated-unscale": "let `fabric.clip_gradients(...)` unscale, once per window, where the optimizer steps",
        "scaled-gradient-norm": "use the norm that `fabric.clip_gradients(...)` returns: it unscales first, and with "
        '`max_norm=float("inf"), error_if_nonfinite=False` it clips nothing',
        "scaler-with-bfloat16": 'give Fabric `precision="bf16-mixed"`',
        "scheduler-on-skipped-step": "step it only if `fabric.strategy.precision.scaler.get_scale()` has not fallen in "
        "`optimizer.step()`",
        "step-bypasses-scaler": "step the optimizer that `fabric.setup` returns",
    },
    live=Live(folders=("lightning/fabric", "lightning_fabric")),
    accounts=(
        Account(
            framework="Fabric",
            version="lightning 2.6.6",
            divides=("you", "lightning/fabric/fabric.py, `backward`"),
            scales=("`fabric.backward`", "lightning/fabric/plugins/precision/amp.py, `backward`"),
            unscales=("`fabric.clip_gradients`", "lightning/fabric/strategies/strategy.py, `clip_gradients_norm`"),
            gates=("you", "lightning/fabric/wrappers.py, `step`"),
            schedules=("you", "lightning/fabric/fabric.py, `setup_optimizers`"),
            saves=("nobody, unless it is put into the saved state", "lightning/fabric/fabric.py, `save`"),
        ),
    ),
)
