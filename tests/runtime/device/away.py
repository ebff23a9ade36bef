"""A device that is no CPU, on a CPU: importing this makes tensors of `device="away"` possible.

Its memory is the host's and its kernels are those of the CPU, so everything runs that runs there; but no tensor of it
is on the CPU, and how often the host has read a number of one is counted (`reads`): a real device is waited for then.
Needs a C++ compiler. `AWAY_BUILD` names the folder that it is built in.
"""

from __future__ import annotations

import os
import types
from pathlib import Path

import torch
from torch.utils import backend_registration
from torch.utils.cpp_extension import load

NAME = "away"


def _module() -> types.ModuleType:
    module = types.ModuleType(NAME)
    module.is_available = lambda: True  # type: ignore[attr-defined]
    module.device_count = lambda: 1  # type: ignore[attr-defined]
    module.current_device = lambda: 0  # type: ignore[attr-defined]
    module.get_amp_supported_dtype = lambda: [torch.float16, torch.bfloat16]  # type: ignore[attr-defined]
    module._is_in_bad_fork = lambda: False  # type: ignore[attr-defined]
    module.manual_seed_all = lambda seed: None  # type: ignore[attr-defined]
    return module


torch.utils.rename_privateuse1_backend(NAME)
_extension = load(
    "away_device",
    [str(Path(__file__).with_name("away.cpp"))],
    build_directory=os.environ["AWAY_BUILD"],
    extra_cflags=["-O0", "-w"],
)
torch._register_device_module(NAME, _module())
torch.utils.generate_methods_for_privateuse1_backend()
torch._C._acc.register_python_privateuseone_hook(backend_registration._DummyPrivateUse1Hook())


def reads() -> int:
    """How often the host has read a number of the device."""
    return int(_extension.reads())
