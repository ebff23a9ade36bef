"""What people call the events: one table per framework. Data, not code; standard library only."""

from __future__ import annotations

from collections.abc import Mapping

from amplint.dialects.accelerate import ACCELERATE
from amplint.dialects.apex import APEX
from amplint.dialects.deepspeed import DEEPSPEED
from amplint.dialects.dialect import Dialect, Holding, Loop, Normalization
from amplint.dialects.fabric import FABRIC
from amplint.dialects.fairseq import FAIRSEQ
from amplint.dialects.fp16_optimizer import FP16_OPTIMIZER
from amplint.dialects.ignite import IGNITE
from amplint.dialects.keras import KERAS
from amplint.dialects.lightning import LIGHTNING
from amplint.dialects.megatron import MEGATRON
from amplint.dialects.mmengine import MMENGINE
from amplint.dialects.python import PYTHON
from amplint.dialects.swift import SWIFT
from amplint.dialects.timm import TIMM
from amplint.dialects.torch import TORCH
from amplint.dialects.torchtitan import TORCHTITAN
from amplint.dialects.transformers import TRANSFORMERS
from amplint.dialects.unsloth import UNSLOTH

DIALECTS: tuple[Dialect, ...] = (
    TORCH,
    PYTHON,
    ACCELERATE,
    APEX,
    DEEPSPEED,
    FABRIC,
    FAIRSEQ,
    FP16_OPTIMIZER,
    IGNITE,
    KERAS,
    LIGHTNING,
    MEGATRON,
    MMENGINE,
    TIMM,
    TRANSFORMERS,
    SWIFT,
    UNSLOTH,
    TORCHTITAN,
)

GOVERNS: frozenset[str] = frozenset(name for dialect in DIALECTS for name in dialect.governs)
"""Packages that divide, scale, clip or gate on the user's behalf."""

WORDS: frozenset[str] = frozenset(word for dialect in DIALECTS for word in dialect.words)
"""A file that holds none of these holds no training step that we know."""

TRAINERS: Mapping[str, Normalization] = {
    name: settled for dialect in DIALECTS for name, settled in dialect.trainers.items()
}
"""Classes whose `compute_loss` users override, and who then normalizes the loss."""

LOSS_CLASSES: Mapping[str, str] = {
    name: method for dialect in DIALECTS for name, method in dialect.loss_classes.items()
}
"""Classes of losses that users derive from, and the method that a trainer calls."""

LOSS_ARGUMENTS: frozenset[str] = frozenset(name for dialect in DIALECTS for name in dialect.loss_arguments)
"""Arguments by which a trainer is handed a function that makes its loss."""

LOSS_TABLES: Mapping[str, bool] = {name: made for dialect in DIALECTS for name, made in dialect.loss_tables.items()}
"""Tables of what makes a loss for a trainer, and whether they hold classes, of which it makes an object."""

TOKEN_LOSSES: frozenset[str] = frozenset(name for dialect in DIALECTS for name in dialect.token_losses)
"""What functions are called that give a loss for each token."""

TABLES: frozenset[str] = frozenset(name.rpartition(".")[2] for name in LOSS_TABLES)
"""What such tables are called."""

LOSS_BASES: frozenset[str] = frozenset(name.rpartition(".")[2] for name in LOSS_CLASSES)
"""What such classes are called: a class that derives from one can matter without any other word of training."""

LOOPS: Mapping[str, Loop] = {name: loop for dialect in DIALECTS for name, loop in dialect.loops.items()}
"""Classes of which a framework calls methods from a loop of its own."""

HOLDS: Mapping[str, Holding] = {name: one for dialect in DIALECTS for name, one in dialect.holds.items()}
"""Classes whose objects hold a loss scaler, and where they do."""

REMEDIES: Mapping[str, Mapping[str, str]] = {
    **{dialect.name: dialect.remedies for dialect in DIALECTS},
    **{loop.name: loop.remedies for loop in LOOPS.values()},
}
"""Per framework, and per loop of one, what to do about a mistake there, by its rule."""


def advice(rule: str, usual: str, words: Mapping[str, str]) -> str:
    """What to do about a mistake: as it is in the framework that the words say it goes through, else as usual."""
    return REMEDIES.get(words.get("through", ""), {}).get(rule, usual)


OVERRIDES: frozenset[str] = frozenset({"compute_loss"}).union(
    *({*loop.micro_step, loop.configures} - {""} for loop in LOOPS.values())
)
"""Methods of such classes that users write: a class that has one can matter without any other word of training."""

SEEDS: frozenset[str] = frozenset(seed for dialect in DIALECTS for seed in dialect.seeds)
"""Methods that make a training step, besides torch's own."""
