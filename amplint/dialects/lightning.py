"""PyTorch Lightning 2.6, manual optimization: `lightning.behaviour`."""

from __future__ import annotations

from amplint.dialects.dialect import Dialect, Live, Loop

_PACKAGES = ("lightning", "lightning.pytorch", "pytorch_lightning")

_MODULES = tuple(
    f"{package}{place}.LightningModule" for package in _PACKAGES for place in ("", ".core", ".core.module")
)
_AUTOMATIC = Loop(
    name="Lightning",
    micro_step=frozenset({"training_step"}),
    returns=frozenset({"training_step"}),
    configures="configure_optimizers",
    window="accumulate_grad_batches",
    off="automatic_optimization",
    own=frozenset({"backward", "optimizer_step", "lr_scheduler_step"}),
    keeps={"lr_schedulers": "the schedule", "optimizers": "the optimizer"},
    backward="return loss",
)
"""`lightning/pytorch/loops/optimization/automatic.py` and `loops/training_epoch_loop.py` of 2.6.6: the loss that
`training_step` returns is divided by `accumulate_grad_batches`, back-propagated and stepped; a schedule is stepped once
per epoch unless its dictionary says `"interval": "step"` (`core/optimizer.py`, `_get_default_scheduler_config`)."""

LIGHTNING = Dialect(
    name="lightning",
    behaviour="lightning.behaviour",
    defines=dict.fromkeys(_MODULES, "LightningModule"),
    loops=dict.fromkeys(_MODULES, _AUTOMATIC),
    words=frozenset({".manual_backward", "def training_step(", "def configure_optimizers("}),
    settings={"16-mixed": r"""\bprecision["']?\s*[:=]\s*["']?16(-mixed)?["']?\s*([,)}#\r\n]|$)"""},
    spelling={"backward": "self.manual_backward(loss)"},
    live=Live(
        folders=("lightning/pytorch", "pytorch_lightning"),
        loops=frozenset({"fit", "_call_and_handle_interrupt"}),
        losses={"backward": ("training_step",)},
    ),
)
