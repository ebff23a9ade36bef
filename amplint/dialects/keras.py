"""Keras 3.15 and tf.keras 2.15: what their optimizers do stands in `keras.behaviour`."""

from __future__ import annotations

from amplint.dialects.account import Account
from amplint.dialects.dialect import Dialect, Role

_OPTIMIZERS = """
    SGD Adam AdamW RMSprop Adagrad Adamax Nadam Adadelta Ftrl Lion Lamb Adafactor Muon
""".split()
_LOSSES = """
    BinaryCrossentropy CategoricalCrossentropy Huber KLDivergence LogCosh MeanAbsoluteError MeanSquaredError Poisson
    SparseCategoricalCrossentropy
""".split()
_SECOND = "keras/src/mixed_precision/loss_scale_optimizer.py"
_THIRD = "keras/src/optimizers/loss_scale_optimizer.py"
_APPLIES = "keras/src/optimizers/base_optimizer.py, `_backend_apply_gradients`"
_MIXED = ("mixed_precision", "mixed_precision.experimental")

KERAS = Dialect(
    name="keras",
    behaviour="keras.behaviour",
    spelling={"step": "optimizer.apply_gradients(...)"},
    defines={
        "tensorflow.GradientTape": "Tape",
        **{
            f"{package}.{place}.LossScaleOptimizer": "LossScaleOptimizer"
            for package in ("tensorflow.keras", "tf_keras", "keras")
            for place in _MIXED
        },
        "keras.optimizers.LossScaleOptimizer": "LossScaleOptimizer3",
        **{
            f"{package}.optimizers.{place}{name}": "KerasOptimizer"
            for package in ("tensorflow.keras", "tf_keras", "keras")
            for place in ("", "legacy.", "experimental.")
            for name in _OPTIMIZERS
        },
        **{f"tensorflow.{name}": name for name in ("clip_by_global_norm", "clip_by_norm", "clip_by_value")},
        **dict.fromkeys(("tensorflow.identity", "tensorflow.cast", "tensorflow.convert_to_tensor"), "same"),
    },
    shape={"LossScaleOptimizer": ("opt", frozenset({"get_scaled_loss"}))},
    makes={
        f"{package}.losses.{name}": Role.CRITERION
        for package in ("tensorflow.keras", "tf_keras", "keras")
        for name in _LOSSES
    },
    needs=frozenset({"GradientTape"}),
    seeds=frozenset({"GradientTape"}),
    words=frozenset({"GradientTape("}),
    accounts=(
        Account(
            framework="Keras 3",
            version="keras 3.15.1",
            divides=("the optimizer, with `gradient_accumulation_steps`", _APPLIES),
            scales=("`fit`; in a loop of your own you, `optimizer.scale_loss`", f"{_THIRD}, `scale_loss`"),
            unscales=("`optimizer.apply`, after what you clip", f"{_THIRD}, `apply`"),
            gates=("the optimizer", _APPLIES),
            schedules=(
                "the optimizer, by its iterations",
                "keras/src/optimizers/base_optimizer.py, `_get_current_learning_rate`",
            ),
            saves=("the optimizer's variables", f"{_THIRD}, `variables`"),
        ),
        Account(
            framework="tf.keras 2",
            version="keras 2.15.0",
            divides=("you", f"{_SECOND}, `apply_gradients`"),
            scales=("`fit`; in a loop of your own you, `get_scaled_loss`", f"{_SECOND}, `get_scaled_loss`"),
            unscales=("`fit`; else you, `get_unscaled_gradients`", f"{_SECOND}, `get_unscaled_gradients`"),
            gates=("you", f"{_SECOND}, `apply_gradients`"),
            schedules=("the optimizer, by its iterations", f"{_SECOND}, `iterations`"),
            saves=("the optimizer's weights", f"{_SECOND}, `weights`"),
        ),
    ),
)
