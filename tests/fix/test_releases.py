"""What is written for several releases of torch stays so."""

from __future__ import annotations

import pytest

from tests.fix.mended import changed

HEAD = "import torch\nfrom torch.cuda.amp import GradScaler, autocast\n"
FALLBACK = """\
try:
    scaler = torch.amp.GradScaler("cuda")
except (AttributeError, TypeError):
    scaler = GradScaler()
"""
BY_FLAG = 'scaler = torch.amp.GradScaler("cuda") if hasattr(torch.amp, "GradScaler") else GradScaler()\n'


@pytest.mark.parametrize("made", [FALLBACK, BY_FLAG])
@pytest.mark.parametrize("use", ["with autocast():\n    pass\n", "scaler = GradScaler()\n"])
def test_the_old_names_stay_where_they_are_fallen_back_to(made, use):
    assert changed(HEAD + made + use) == []


def test_the_old_names_stay_where_another_use_of_them_is_mended():
    wrong = 'with autocast(device_type="cuda"):\n    pass\n'
    assert changed(HEAD + "scaler = GradScaler()\n" + wrong)
    assert changed(HEAD + FALLBACK + wrong) == []


def test_other_code_that_handles_an_exception_is_renamed_with_the_rest():
    made = "try:\n    scaler = GradScaler()\nexcept RuntimeError:\n    scaler = None\n"
    assert changed(HEAD + made + "with autocast():\n    pass\n")


def test_a_file_that_trains_nothing_is_renamed_like_those_that_do():
    helper = "import torch\nfrom torch.cuda.amp import autocast\n\n\ndef preview(model, x):\n    with autocast():\n"
    assert changed(helper + "        return model(x)\n") == [
        "- from torch.cuda.amp import autocast",
        "+ from torch.amp import autocast",
        "-     with autocast():",
        '+     with autocast("cuda"):',
    ]
