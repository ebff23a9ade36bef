"""Unsloth: its trainer is TRL's SFTTrainer, and its models divide the sum over the tokens by `num_items_in_batch`."""

from __future__ import annotations

from amplint.dialects.account import Account
from amplint.dialects.dialect import Dialect, Normalization
from amplint.dialects.transformers import TRAINER_LOOP

_TRAINERS = dict.fromkeys(("unsloth.UnslothTrainer", "unsloth.trainer.UnslothTrainer"), Normalization.TOKENS)

UNSLOTH = Dialect(
    name="unsloth",
    trainers=_TRAINERS,
    loops=dict.fromkeys(_TRAINERS, TRAINER_LOOP),
    accounts=(
        Account(
            framework="Unsloth",
            version="unsloth 015bdef",
            divides=(
                "the loss of its models, by `num_items_in_batch`",
                "unsloth/models/_utils.py, `_unsloth_pre_compute_loss`",
            ),
            scales=("Accelerate, as in the Hugging Face Trainer", "transformers/trainer.py, `training_step`"),
            unscales=("Accelerate", "transformers/trainer.py, `_clip_grad_norm`"),
            gates=("the Trainer", "transformers/trainer.py, `_run_epoch`"),
            schedules=("the Trainer", "transformers/trainer.py, `_run_epoch`"),
            saves=("the Trainer, as scaler.pt", "transformers/trainer.py, `_save_scaler`"),
        ),
    ),
)
