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


REGION = (
    "import torch\nfrom torch.cuda.amp import autocast\nHEAD\n\ndef run(model, lib, x, kind):\n    AROUND\n    CALL\n"
)
AROUND = {
    "a region of bfloat16": 'with torch.autocast("cuda", dtype=torch.bfloat16): x = model(x)',
    "one by position": 'with torch.amp.autocast("cuda", torch.bfloat16): x = model(x)',
    "one of the old name": "with autocast(True, torch.bfloat16): x = model(x)",
    "one of a dtype that is given": 'with torch.autocast(device_type="cuda:0", dtype=kind): x = model(x)',
    "one with arguments that are not seen": "with torch.autocast(**kind): x = model(x)",
    "one that is made later": 'kind = lib.partial(torch.autocast, "cuda", dtype=torch.bfloat16)',
    "one of another library": "with lib.autocast(): x = model(x)",
    "a dtype that is set": "torch.set_autocast_gpu_dtype(torch.bfloat16)",
    "a dtype that is set for a device": 'torch.set_autocast_dtype("cuda", torch.bfloat16)',
}
NOTHING_ELSE = {
    "a region of float16": 'with torch.autocast("cuda", dtype=torch.float16): x = model(x)',
    "a region on the CPU": 'with torch.autocast("cpu", dtype=torch.bfloat16): x = model(x)',
    "a region of the dtype in force": 'with torch.autocast("cuda"): x = model(x)',
    "another function": "x = lib.cast(x, dtype=torch.bfloat16)",
}
HEAD_OF_NAMES = "import json\nfrom torch import *\nimport torch.nn as nn"


def region(around: str, call: str, head: str = HEAD_OF_NAMES) -> str:
    return REGION.replace("HEAD", head).replace("AROUND", around).replace("CALL", call)


@pytest.mark.parametrize("name", AROUND)
@pytest.mark.parametrize(("given", "after"), [("", ""), ("enabled=x", ", enabled=x"), ("x", ", enabled=x")])
def test_float16_is_said_where_a_file_may_set_another_dtype_around_it(name, given, after):
    lines = changed(region(AROUND[name], f"with autocast({given}): return model(x)"))
    assert f'+     with autocast("cuda", dtype=torch.float16{after}): return model(x)' in lines


@pytest.mark.parametrize("name", NOTHING_ELSE)
def test_no_dtype_is_said_where_none_is_set(name):
    lines = changed(region(NOTHING_ELSE[name], "with autocast(): return model(x)"))
    assert '+     with autocast("cuda"): return model(x)' in lines


def test_a_dtype_that_is_given_stays():
    lines = changed(region(AROUND["a region of bfloat16"], "with autocast(dtype=kind): return model(x)"))
    assert '+     with autocast("cuda", dtype=kind): return model(x)' in lines


@pytest.mark.parametrize(("imported", "name"), [("import torch as th", "th"), ("import torch.nn", "torch"), ("", "")])
def test_torch_is_called_what_the_file_calls_it(imported, name):
    source = region("with lib.autocast(): x = model(x)", "with autocast(): return model(x)")
    lines = changed(source.replace("import torch\n", f"{imported}\n", 1))
    assert [one for one in lines if one.startswith("+     with")] == (
        [f'+     with autocast("cuda", dtype={name}.float16): return model(x)'] if name else []
    )
