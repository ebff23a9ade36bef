"""Frameworks whose training loop is their own from end to end: who does what in it. None of it is followed."""

from __future__ import annotations

from amplint.dialects.account import Account
from amplint.dialects.dialect import Dialect

_MEGATRON = "megatron/core/optimizer/optimizer.py"
_FAIRSEQ = "fairseq/optim/fp16_optimizer.py"
_KERAS = "keras/src/optimizers/loss_scale_optimizer.py"

ENGINES = Dialect(
    name="engines",
    accounts=(
        Account(
            framework="ms-swift",
            version="ms-swift 4.6.0.dev0",
            divides=(
                "`compute_loss`, by the tokens of the window; `loss_scale` there is a weight per token",
                "swift/trainers/seq2seq_trainer.py, `compute_loss`",
            ),
            scales=("Accelerate, as in the Hugging Face Trainer", "transformers/trainer.py, `training_step`"),
            unscales=("Accelerate", "transformers/trainer.py, `_clip_grad_norm`"),
            gates=("the Trainer", "transformers/trainer.py, `_run_epoch`"),
            schedules=("the Trainer", "transformers/trainer.py, `_run_epoch`"),
            saves=("the Trainer, as scaler.pt", "transformers/trainer.py, `_save_scaler`"),
        ),
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
        Account(
            framework="Megatron-Core",
            version="megatron-core 0.20.0",
            divides=(
                "the schedule, by `num_microbatches` or by tokens",
                "megatron/core/pipeline_parallel/schedules.py, `forward_step_calc_loss`",
            ),
            scales=("`optimizer.scale_loss`, on the last stage", f"{_MEGATRON}, `scale_loss`"),
            unscales=("`optimizer.step`", f"{_MEGATRON}, `prepare_grads`"),
            gates=("the schedule runs the window, one step after it", f"{_MEGATRON}, `step`"),
            schedules=("the training loop, when the update was made", "megatron/training/training.py, `train_step`"),
            saves=("`state_dict` of the optimizer", f"{_MEGATRON}, `state_dict`"),
        ),
        Account(
            framework="torchtitan",
            version="torchtitan b5bcd76",
            divides=("`train_step`, by the tokens of the window on all ranks", "torchtitan/trainer.py, `train_step`"),
            scales=("nobody: bfloat16", "torchtitan/trainer.py, `train_step`"),
            unscales=("nobody", "torchtitan/trainer.py, `train_step`"),
            gates=("one `train_step` is a window", "torchtitan/trainer.py, `train_step`"),
            schedules=("`train_step`", "torchtitan/trainer.py, `train_step`"),
            saves=("nobody: there is none", "torchtitan/trainer.py, `train_step`"),
        ),
        Account(
            framework="fairseq",
            version="fairseq 3d262bb",
            divides=("the trainer, the summed gradients by the sample size", "fairseq/trainer.py, `train_step`"),
            scales=("`optimizer.backward`", f"{_FAIRSEQ}, `backward`"),
            unscales=("`clip_grad_norm`, with the factor of the samples", f"{_FAIRSEQ}, `clip_grad_norm`"),
            gates=("one `train_step` is a window", "fairseq/trainer.py, `train_step`"),
            schedules=("the trainer, when the update was made", "fairseq/trainer.py, `lr_step_update`"),
            saves=("`state_dict` of the optimizer", f"{_FAIRSEQ}, `state_dict`"),
        ),
        Account(
            framework="Keras 3",
            version="keras 3.15.1",
            divides=(
                "the optimizer, with `gradient_accumulation_steps`",
                "keras/src/optimizers/base_optimizer.py, `_backend_apply_gradients`",
            ),
            scales=("`fit`; in a loop of your own you, `optimizer.scale_loss`", f"{_KERAS}, `scale_loss`"),
            unscales=("`optimizer.apply`, after what you clip", f"{_KERAS}, `apply`"),
            gates=("the optimizer", "keras/src/optimizers/base_optimizer.py, `_backend_apply_gradients`"),
            schedules=(
                "the optimizer, by its iterations",
                "keras/src/optimizers/base_optimizer.py, `_get_current_learning_rate`",
            ),
            saves=("the optimizer's variables", f"{_KERAS}, `variables`"),
        ),
    ),
)
