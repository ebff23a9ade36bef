"""Unsloth: its trainer is TRL's SFTTrainer, and its models divide the sum over the tokens by `num_items_in_batch`."""

from __future__ import annotations

from dataclasses import replace

from amplint.dialects.dialect import Dialect, Normalization
from amplint.dialects.transformers import TRAINER, TRAINER_LOOP

_TRAINERS = dict.fromkeys(("unsloth.UnslothTrainer", "unsloth.trainer.UnslothTrainer"), Normalization.TOKENS)

UNSLOTH = Dialect(
    name="unsloth",
    trainers=_TRAINERS,
    loops=dict.fromkeys(_TRAINERS, TRAINER_LOOP),
    accounts=(
        replace(
            TRAINER,
            framework="Unsloth",
            version="unsloth 015bdef",
            divides=(
                "the loss of its models, by `num_items_in_batch`",
                "unsloth/models/_utils.py, `_unsloth_pre_compute_loss`",
            ),
        ),
    ),
)
