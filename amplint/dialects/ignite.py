"""PyTorch Ignite 0.6: what its engines do stands in `ignite.behaviour`."""

from __future__ import annotations

from amplint.dialects.account import Account
from amplint.dialects.dialect import Dialect

_ENGINE = ("ignite.engine.Engine", "ignite.engine.engine.Engine", "ignite.engine.deterministic.DeterministicEngine")
_ADAPTING = ("auto_model", "auto_optim", "auto_dataloader")
_STEPS = ("supervised_training_step", "supervised_training_step_amp", "create_supervised_trainer")

IGNITE = Dialect(
    name="ignite",
    behaviour="ignite.behaviour",
    defines={
        **dict.fromkeys((*_ENGINE, "ignite.engine.DeterministicEngine"), "Engine"),
        **{f"ignite.engine.{name}": name for name in _STEPS},
        **{f"ignite.distributed.{name}": name for name in _ADAPTING},
        **{f"ignite.distributed.auto.{name}": name for name in _ADAPTING},
    },
    seeds=frozenset({"create_supervised_trainer"}),
    words=frozenset({"create_supervised_trainer"}),
    accounts=(
        Account(
            framework="Ignite, `create_supervised_trainer`",
            version="ignite 0.6.0",
            divides=("`gradient_accumulation_steps` of the trainer", "ignite/engine/__init__.py, `update`"),
            scales=("the trainer, with `scaler`", "ignite/engine/__init__.py, `supervised_training_step_amp`"),
            unscales=("nobody: it never clips", "ignite/engine/__init__.py, `supervised_training_step_amp`"),
            gates=("the trainer", "ignite/engine/__init__.py, `update`"),
            schedules=("you, in a handler", "ignite/handlers/param_scheduler.py, `LRScheduler`"),
            saves=("you, `trainer.state.scaler`", "ignite/engine/__init__.py, `create_supervised_trainer`"),
        ),
        Account(
            framework="Ignite, `Engine`",
            version="ignite 0.6.0",
            divides=("you", "ignite/engine/engine.py, `_run_once_on_dataset_as_gen`"),
            scales=("you", "ignite/engine/engine.py, `_run_once_on_dataset_as_gen`"),
            unscales=("you", "ignite/engine/engine.py, `_run_once_on_dataset_as_gen`"),
            gates=("you, by `engine.state.iteration`", "ignite/engine/engine.py, `_run_once_on_dataset_as_gen`"),
            schedules=("you, in a handler", "ignite/handlers/param_scheduler.py, `LRScheduler`"),
            saves=("you, `scaler.state_dict()`", "ignite/handlers/checkpoint.py, `Checkpoint`"),
        ),
    ),
)
