"""PyTorch Lightning 2.6, manual optimization: `lightning.behaviour`."""

from __future__ import annotations

from amplint.dialects.account import Account
from amplint.dialects.dialect import Dialect, Live, Loop

_PACKAGES = ("lightning", "lightning.pytorch", "pytorch_lightning")

_MODULES = tuple(
    f"{package}{place}.LightningModule" for package in _PACKAGES for place in ("", ".core", ".core.module")
)
LOST = (
    "neither multiplied by the loss scale that the step of 16-mixed takes out, nor left to the strategy of the devices"
)
_HOOK = "in `on_before_optimizer_step`, which Lightning calls in `optimizer.step()`"
_CLIP = f"clip {_HOOK}"
_NO_SCALER = 'take the scaler of your own out, and give the Trainer `precision="16-mixed"`'
_AUTOMATIC = Loop(
    name="Lightning",
    micro_step=frozenset({"training_step"}),
    returns=frozenset({"training_step"}),
    configures="configure_optimizers",
    window="accumulate_grad_batches",
    off="automatic_optimization",
    own=frozenset({"backward", "optimizer_step", "lr_scheduler_step"}),
    keeps={"lr_schedulers": "the schedule", "optimizers": "the optimizer"},
    schedules=frozenset({"lr_schedulers", "lr_scheduler_configs", "lr_scheduler_step"}),
    backward="return loss",
    remedies={
        "bypassed-framework-backward": "return the loss, and leave its backward to Lightning; or set "
        "`self.automatic_optimization = False`, and call `self.manual_backward(loss)`",
        "clip-before-backward": f"give the Trainer `gradient_clip_val`, or {_CLIP}",
        "double-loss-division": "return the loss undivided: Lightning divides it",
        "scheduler-never-stepped": "Lightning steps none in manual optimization: take it from `self.lr_schedulers()` "
        "and call its `step()`, or do not return it",
        "scheduler-horizon-mismatch": "count it in updates, of which there are "
        '`self.trainer.estimated_stepping_batches`, or hand it over with `"interval": "epoch"`',
    },
)
"""`lightning/pytorch/loops/optimization/automatic.py` and `loops/training_epoch_loop.py` of 2.6.6: the loss that
`training_step` returns is divided by `accumulate_grad_batches`, back-propagated and stepped; a schedule is stepped once
per epoch unless its dictionary says `"interval": "step"` (`core/optimizer.py`, `_get_default_scheduler_config`).
In manual optimization none is: `_update_learning_rates` of `training_epoch_loop.py` returns at once."""

SCALES = (
    r"""\bprecision["']?\s*[:=]\s*["']?16(-mixed)?["']?\s*([,)}#\r\n]|$)"""
    r"""|\bMixedPrecision\(\s*["']16-mixed"""
)
"""A line that asks for float16 with a scaler."""

_WITHOUT = r"""(?:(?!\*\*|\b(?:{})\b)[^()]|\([^()]*\))*"""
"""The arguments of a call that has none of some."""
_OPTION = r"""["']--precision["'](?:[^()]|\([^()]*\))*?\bdefault\s*=\s*"""
"""The option of a command line, up to its default."""
_CALL = r"\bTrainer\((?:[^()]|\([^()]*\))*\)"
TESTS = (
    rf"(?s)(?P<one>\b\w+)\s*=\s*[\w.]*{_CALL}"
    r"(?=.*\b(?P=one)\.(?:test|validate|predict)\()(?!.*\b(?P=one)\b(?!\s*=|\.(?:test|validate|predict)\())"
)
"""A Trainer that is made in a file and fits nothing there."""

LIGHTNING = Dialect(
    name="lightning",
    behaviour="lightning.behaviour",
    defines=dict.fromkeys(_MODULES, "LightningModule"),
    loops=dict.fromkeys(_MODULES, _AUTOMATIC),
    words=frozenset({".manual_backward", "def training_step(", "def configure_optimizers("}),
    settings={
        "16-mixed": SCALES,
        "another precision": r"""\bTrainer\((?:[^()]|\([^()]*\))*?\bprecision\s*=\s*["']?(bf16|16-true|32|64)""",
        "a Trainer": r"\bTrainer\(|\bLightningCLI\(",
        "the default precision": rf"\bTrainer\({_WITHOUT.format('precision')}\)",
        "a precision from elsewhere": r"""\bTrainer\((?:[^()]|\([^()]*\))*?(\bprecision\s*=\s*[A-Za-z_]|\*\*)"""
        r"""|--precision\b|\bTrainer\.from_argparse_args\(|\bLightningCLI\(|\b_target_["']?\s*:\s*\S*\bTrainer\b""",
        "16-mixed by default": rf"""{_OPTION}["']?16(-mixed)?["']?\s*[,)]""",
        "another default": rf"""{_OPTION}(?!["']?16(-mixed)?["']?\s*[,)])""",
        "one device": r"""\bTrainer\((?:[^()]|\([^()]*\))*?\bdevices\s*=\s*(1\b|["']1["']|\[\s*\d+\s*\])|"""
        rf"""\bTrainer\((?=[^)]*\baccelerator\s*=\s*["']cpu["']){_WITHOUT.format("devices|strategy|num_nodes")}\)""",
        "several devices": r"""\bdevices["']?\s*[:=]\s*["']?(auto|-1|[2-9]|1\d)|\bstrategy["']?\s*[:=]\s*["']?\w""",
    },
    unasked=TESTS,
    spelling={
        "backward": "self.manual_backward(loss)",
        "lost": LOST,
    },
    remedies={
        "clip-after-step": _CLIP,
        "clip-before-backward": _CLIP,
        "clip-before-unscale": f"{_CLIP} once it has unscaled; nothing else may unscale",
        "repeated-unscale": f"take `unscale_()` out, and {_CLIP} once it has unscaled",
        "scaled-gradient-norm": f"measure it {_HOOK} once it has unscaled",
        "scaler-with-bfloat16": 'give the Trainer `precision="bf16-mixed"`',
        "step-bypasses-scaler": _NO_SCALER,
        "unscaled-backward": _NO_SCALER,
    },
    live=Live(
        folders=("lightning/pytorch", "pytorch_lightning"),
        loops=frozenset({"fit", "_call_and_handle_interrupt"}),
        losses={"backward": ("training_step",)},
    ),
    accounts=(
        Account(
            framework="Lightning, automatic",
            version="lightning 2.6.6",
            divides=("the loop", "lightning/pytorch/loops/optimization/automatic.py, `from_training_step_output`"),
            scales=("the precision plugin", "lightning/pytorch/plugins/precision/amp.py, `pre_backward`"),
            unscales=("the precision plugin", "lightning/pytorch/plugins/precision/amp.py, `optimizer_step`"),
            gates=("the loop", "lightning/pytorch/loops/training_epoch_loop.py, `_should_accumulate`"),
            schedules=(
                'the loop: per epoch, or per update with `"interval": "step"`',
                "lightning/pytorch/loops/training_epoch_loop.py, `update_lr_schedulers`",
            ),
            saves=("the Trainer", "lightning/pytorch/plugins/precision/amp.py, `state_dict`"),
        ),
        Account(
            framework="Lightning, manual",
            version="lightning 2.6.6",
            divides=("you", "lightning/pytorch/core/module.py, `manual_backward`"),
            scales=("`self.manual_backward`", "lightning/pytorch/plugins/precision/amp.py, `pre_backward`"),
            unscales=(
                "nobody: `opt.step()` unscales, after the clip",
                "lightning/pytorch/plugins/precision/amp.py, `optimizer_step`",
            ),
            gates=("you", "lightning/pytorch/core/module.py, `optimizers`"),
            schedules=("you, `self.lr_schedulers().step()`", "lightning/pytorch/core/module.py, `lr_schedulers`"),
            saves=("the Trainer", "lightning/pytorch/plugins/precision/amp.py, `state_dict`"),
        ),
    ),
)
