"""A clip becomes a method of the model only where the model has it, whatever the settings are."""

import pytest

from tests.fix.mended import changed

LOOP = """\
import torch
from torch.distributed.fsdp import FullyShardedDataParallel as FSDP


def train(model, loader, settings):
    {wrap}
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for x in loader:
        optimizer.zero_grad()
        model(x).mean().backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), {limit})
        optimizer.step()
"""
WRAPPED, PERHAPS = "model = FSDP(model)", "if settings.sharded:\n        model = FSDP(model)"


@pytest.mark.parametrize(
    ("limit", "call"), [("1.0", "1.0"), ("max_norm=1.0, norm_type=2", "max_norm=1.0, norm_type=2")]
)
def test_a_model_that_is_sharded_clips(limit, call):
    lines = changed(LOOP.format(wrap=WRAPPED, limit=limit))
    assert lines[1] == f"+         model.clip_grad_norm_({call})"


@pytest.mark.parametrize(("wrap", "limit"), [(PERHAPS, "1.0"), (WRAPPED, "1.0, error_if_nonfinite=True")])
def test_a_model_that_may_be_a_plain_one_or_an_argument_that_it_does_not_take_is_left_to_a_person(wrap, limit):
    assert changed(LOOP.format(wrap=wrap, limit=limit)) == []
