"""Losses that a model returns because an argument of its call asks for them.

transformer_lens 2.16, `HookedTransformer.forward`: `return_type="loss"` gives the mean of the next tokens' cross
entropy over the batch (`utils.lm_cross_entropy_loss`), `loss_per_token` one loss for each.
"""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Asked:
    """The argument that asks for a mean loss, its value, and the arguments that make another loss of it."""

    argument: str
    value: str
    unless: frozenset[str]


ASKED: Mapping[str, Asked] = {"transformer_lens": Asked("return_type", "loss", frozenset({"loss_per_token"}))}
"""By the package whose models are asked."""

FIRST: Mapping[str, str] = {"transformers": "labels"}
"""By the package whose models return their loss before anything else, the argument that asks for it (transformers 4.57:
`ModelOutput.to_tuple` and each model's plain tuple begin with it, where there are labels)."""


COUNTS = "num_items_in_batch"
"""The argument by which a model of transformers sums its losses up and divides them (4.57, `loss/loss_utils.py`)."""


def asks_for_mean(packages: Container[str], keywords: Mapping[str, object]) -> bool:
    """Whether a call of a model, in a program that imports some packages, asks for a loss averaged over the batch."""
    return any(
        package in packages and keywords.get(asked.argument) == asked.value and asked.unless.isdisjoint(keywords)
        for package, asked in ASKED.items()
    )


def returns_loss_first(packages: Container[str], keywords: Container[str]) -> bool:
    """Whether what a call of a model returns, in a program that imports some packages, begins with its loss."""
    return any(package in packages and argument in keywords for package, argument in FIRST.items())


def may_return_loss_first(packages: Container[str]) -> bool:
    """Whether it may, where nobody knows all arguments of the call."""
    return any(package in packages for package in FIRST)
