"""Hugging Face transformers 5.23 and TRL 1.16: the trainers whose `compute_loss` users override.

`Trainer.training_step` hands `num_items_in_batch` to `compute_loss` since 4.46, and since 4.49 divides what comes back
by the window unless `loss_is_scaled_for_ga` (5.19), or the signature of the model's `forward`, says that the loss is
normalized over the window already (`transformers/trainer.py`, `trl/trainer/*_trainer.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from amplint.dialects.account import Account
from amplint.dialects.dialect import Dialect, Live, Loop, Normalization

_SETTLED = ("CPO", "DPO", "GRPO", "KTO", "ORPO", "Reward", "RLOO", "Distillation")


def _in_trl(names: Iterable[str]) -> Iterator[str]:
    """The places from which TRL's trainers are imported."""
    for name in names:
        yield from (f"trl.{name}Trainer", f"trl.trainer.{name}Trainer")
        for module in (f"trl.trainer.{name.lower()}_trainer", f"trl.experimental.{name.lower()}"):
            yield f"{module}.{name}Trainer"


_TRAINERS = {
    "transformers.Trainer": Normalization.MODEL,
    "transformers.trainer.Trainer": Normalization.MODEL,
    "transformers.Seq2SeqTrainer": Normalization.MODEL,
    "transformers.trainer_seq2seq.Seq2SeqTrainer": Normalization.MODEL,
    **dict.fromkeys(_in_trl(("SFT", "GKD")), Normalization.TOKENS),
    **dict.fromkeys(_in_trl(_SETTLED), Normalization.SETTLED),
}
TRAINER_LOOP = Loop(
    name="the Trainer",
    micro_step=frozenset({"compute_loss", "training_step"}),
    returns=frozenset({"compute_loss"}),
    own=frozenset({"train", "_inner_training_loop", "_run_epoch"}),
    keeps={"optimizer": "the optimizer", "lr_scheduler": "the schedule"},
    backward="self.accelerator.backward(loss)",
    clip="self.accelerator.clip_grad_norm_(...)",
    remedies={
        "bypassed-framework-backward": "return the loss: `training_step` back-propagates it",
        "bypassed-framework-clip": "set `max_grad_norm` in the TrainingArguments: the Trainer clips",
        "clip-before-backward": "set `max_grad_norm` in the TrainingArguments: the Trainer clips",
        "clip-per-micro-step": "set `max_grad_norm` in the TrainingArguments: the Trainer clips",
        "double-loss-division": "normalize over the window once: by `num_items_in_batch`, and by nothing else",
    },
)
"""`transformers/trainer.py` of 5.23: `training_step` back-propagates what `compute_loss` returns with
`self.accelerator.backward`; `_run_epoch` steps the optimizer and the schedule."""

TRAINER = Account(
    framework="Hugging Face Trainer",
    version="transformers 5.23.0",
    divides=(
        "`training_step`, unless the loss is known to be normalized by `num_items_in_batch`",
        "transformers/trainer.py, `training_step`",
    ),
    scales=("Accelerate", "transformers/trainer.py, `training_step`"),
    unscales=("Accelerate", "transformers/trainer.py, `_clip_grad_norm`"),
    gates=("the Trainer", "transformers/trainer.py, `_run_epoch`"),
    schedules=("the Trainer, unless the step was skipped", "transformers/trainer.py, `_run_epoch`"),
    saves=("the Trainer, as scaler.pt", "transformers/trainer.py, `_save_scaler`"),
)

TRANSFORMERS = Dialect(
    name="transformers",
    trainers=_TRAINERS,
    loops=dict.fromkeys(_TRAINERS, TRAINER_LOOP),
    loss_arguments=frozenset({"compute_loss_func"}),
    words=frozenset({"def compute_loss(", "def training_step(", "compute_loss_func=", "fp16=True"}),
    live=Live(
        folders=("transformers", "trl", "swift"),
        loops=frozenset({"train", "_inner_training_loop"}),
        losses={"training_step": ("compute_loss_func", "compute_loss", "_compute_loss")},
        windows={"training_step": "current_gradient_accumulation_steps"},
        moves=dict.fromkeys(("_inner_training_loop", "_run_epoch"), "the Trainer"),
    ),
    accounts=(TRAINER,),
)
