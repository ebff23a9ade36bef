"""A clip in a trainer's own step is left to a person: its loop clips and unscales by itself, and only once."""

import pytest

from tests.fix.mended import changed

STEP = """\
import torch
from transformers import Trainer, TrainingArguments


class Clipping(Trainer):
    def training_step(self, model, inputs, num_items_in_batch=None):
        loss = super().training_step(model, inputs, num_items_in_batch)
        if self.accelerator.sync_gradients:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 0.5)
        return loss


arguments = TrainingArguments("out", gradient_accumulation_steps=4{also})
"""
ON_EACH = STEP.replace("        if self.accelerator.sync_gradients:\n    ", "")


@pytest.mark.parametrize("text", [STEP.format(also=", fp16=True"), ON_EACH.format(also="")])
def test_a_clip_in_a_trainer_s_own_step_is_left_to_a_person(text):
    assert changed(text) == []
