"""How often a prepared scheduler steps depends on the version of Accelerate: before 0.16 it waited for no update."""

import pytest

from amplint.analysis import findings_of

TRAIN = """
from accelerate import Accelerator
from diffusers.optimization import TYPE_TO_SCHEDULER_FUNCTION


def train(args, model, loader, optimizer, criterion):
    accelerator = Accelerator(gradient_accumulation_steps=args.accum_steps)
    total = args.max_steps * accelerator.num_processes * args.accum_steps
    make = TYPE_TO_SCHEDULER_FUNCTION[args.schedule]
    schedule = make(optimizer, num_warmup_steps=args.warmup, num_training_steps=total)
    model, optimizer, loader, schedule = accelerator.prepare(model, optimizer, loader, schedule)
    updates = 0
    for epoch in range(args.epochs):
        for x, y in loader:
            with accelerator.accumulate(model):
                accelerator.backward(criterion(model(x), y))
                optimizer.step()
                schedule.step()
                optimizer.zero_grad()
            if accelerator.sync_gradients:
                updates += 1
            if updates >= args.max_steps:
                break
"""


@pytest.mark.parametrize(
    ("declared", "found"),
    [
        ({}, True),
        ({"accelerate": ">=0.12"}, True),
        ({"accelerate": "==0.15.0"}, False),
        ({"accelerate": "<0.16"}, False),
    ],
)
def test_a_horizon_in_micro_batches_was_right_before_it_waited(declared, found):
    told = {finding.code for finding in findings_of(TRAIN, "train.py", declared)}
    assert ("scheduler-horizon-mismatch" in told) is found
