"""An object that a setting has chosen keeps the condition, however the branches that speak of it are written."""

import pytest

from amplint.analysis import findings_of
from amplint.findings import Severity

TRAINING = """\
import torch
from accelerate import Accelerator

{maker}

def train(model, loader, fp16):
    {made}
    optimizer = torch.optim.AdamW(model.parameters())
    model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
    for x in loader:
        accelerator.backward(model(x).mean())
        if {test}:
            pass
        else:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        optimizer.zero_grad()
"""
CHOSEN = {
    "two constructors": ("", 'if fp16:\n        accelerator = Accelerator(mixed_precision="fp16")\n'
                             '    else:\n        accelerator = Accelerator(mixed_precision="no")'),
    "a conditional expression": ("", 'accelerator = Accelerator(mixed_precision="fp16" if fp16 else "no")'),
    "a table": ("", 'accelerator = Accelerator(mixed_precision={True: "fp16", False: "no"}[fp16])'),
    "a function": (
        'def make(fp16):\n    if fp16:\n        return Accelerator(mixed_precision="fp16")\n    return Accelerator()',
        "accelerator = make(fp16)",
    ),
}  # fmt: skip


@pytest.mark.parametrize(("maker", "made"), CHOSEN.values(), ids=CHOSEN)
@pytest.mark.parametrize(("test", "severity"), [("fp16", Severity.WARNING), ("not fp16", Severity.ERROR)])
def test_a_clip_past_accelerate_is_an_error_only_where_a_scale_is_in_the_gradients(maker, made, test, severity):
    (found,) = findings_of(TRAINING.format(maker=maker, made=made, test=test), "train.py")
    assert (found.code, found.severity) == ("bypassed-framework-clip", severity)
