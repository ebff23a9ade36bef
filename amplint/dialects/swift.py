"""ms-swift 4.6: trainers of the Hugging Face kind, of which one normalizes every loss by the tokens of the window.

`swift/trainers/seq2seq_trainer.py`, `compute_loss`: the sum over the tokens is divided by `num_items_in_batch`, and it
says so for every model. An object of a class of `loss_map` is handed the same count (`swift/loss/base.py`,
`swift/trainers/mixin.py`), as a function of `loss_mapping` is up to 3.12 (`swift/plugin/loss.py`), and the trainer
divides no more. The trainers of embeddings, rerankers and sequences, whose labels are no tokens, divide what it returns
by the window (`swift/trainers/trainer.py`, `reranker_trainer.py`): a mean is right for them. What it calls `loss_scale`
is a weight for each token, and has nothing to do with float16.
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
    loss_tables={
        **dict.fromkeys(("swift.loss_map", "swift.loss.loss_map", "swift.loss.mapping.loss_map"), True),
        **dict.fromkeys(("swift.plugin.loss_mapping", "swift.plugin.loss.loss_mapping"), False),
    },
    token_losses=frozenset({"per_token_loss_func", "per_token_loss_func_sp"}),
    words=frozenset({"BaseLoss", "loss_map"}),
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
