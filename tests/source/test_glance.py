"""Which texts are parsed at all: those whose words may be those of a step."""

import pytest

from amplint.source.glance import may_hold_a_step
from amplint.source.scout import scout


@pytest.mark.parametrize(
    "text",
    [
        "loss.backward()",
        "loss.backward (retain_graph=True)",
        "GradScaler()",
        "def training_step(self): pass",
        "SGD(\n    model.parameters(),\n)",
        "SGD(list_of(model).parameters())",
        "torch.autocast(enabled=True)",
        "from torch.cuda.amp import autocast",
        "f(fp16=True, bf16=True)",
        "model = from_pretrained(name, torch_dtype=half)\ntrain(fp16=True)",
        "save(scaler.state_dict)",
        "clip_grad_norm_(self.model.parameters())",
    ],
)
def test_words_of_a_step_are_enough(text):
    assert may_hold_a_step(text)


@pytest.mark.parametrize(
    "text",
    [
        "def backward(ctx): pass",
        "my_backward()",
        "for p in self.model.parameters(): p.requires_grad_(False)",
        "model.named_parameters()",
        "torch.autocast(device_type='cuda', enabled=False)",
        "torch.autocast('cuda')",
        "training_step = None",
        "save(scaler.state_dict())",
    ],
)
def test_words_that_are_no_part_of_one_are_not(text):
    assert not may_hold_a_step(text)


def test_what_the_user_has_taught_is_one():
    assert may_hold_a_step("engine.march(batch)", ["march"])


def test_what_is_not_ours_is_not_parsed_and_so_not_told_to_be_broken():
    assert scout("print 'the backward pass'\n") is None
    assert scout("print 'x'\nloss.backward()\n") == "print 'x'\nloss.backward()\n"
