"""ms-swift 4.6: trainers of the Hugging Face kind, of which one normalizes every loss by the tokens of the window.

`swift/trainers/seq2seq_trainer.py`, `compute_loss`: the sum over the tokens is divided by `num_items_in_batch`, and it
says so for every model. A class of `loss_map` is handed the same count (`swift/loss/base.py`,
`swift/trainers/mixin.py`), and the trainer divides no more. What it calls `loss_scale` is a weight for each token, and
has nothing to do with float16.
"""

from __future__ import annotations

from dataclasses import replace

from amplint.dialects.dialect import Dialect, Normalization
from amplint.dialects.transformers import TRAINER, TRAINER_LOOP

_TRAINERS = {
    "swift.trainers.Seq2SeqTrainer": Normalization.TOKENS,
    "swift.trainers.seq2seq_trainer.Seq2SeqTrainer": Normalization.TOKENS,
    "swift.trainers.Trainer": Normalization.MODEL,
    "swift.trainers.trainer.Trainer": Normalization.MODEL,
}

SWIFT = Dialect(
    name="swift",
    trainers=_TRAINERS,
    loops=dict.fromkeys(_TRAINERS, TRAINER_LOOP),
    loss_classes=dict.fromkeys(("swift.BaseLoss", "swift.loss.BaseLoss", "swift.loss.base.BaseLoss"), "__call__"),
    words=frozenset({"BaseLoss"}),
    accounts=(
        replace(
            TRAINER,
            framework="ms-swift",
            version="ms-swift 4.6.0.dev0",
            divides=(
                "`compute_loss`, by the tokens of the window; `loss_scale` there is a weight per token",
                "swift/trainers/seq2seq_trainer.py, `compute_loss`",
            ),
        ),
    ),
)
