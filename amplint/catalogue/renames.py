"""Public names that have moved, and what they need where they are now."""

from __future__ import annotations

from amplint.catalogue.remedy import Rename, Renamed

CUDA_AMP = ("torch.cuda.amp", "torch.cuda.amp.autocast_mode", "torch.cuda.amp.grad_scaler")

TO_AMP = Rename(
    modules=CUDA_AMP,
    into="torch.amp",
    names={
        "autocast": Renamed(
            '"cuda"',
            positions=("enabled", "dtype", "cache_enabled"),
            inherited={"dtype": "torch.float16"},
        ),
        "GradScaler": Renamed('"cuda"'),
        "custom_fwd": Renamed('device_type="cuda"'),
        "custom_bwd": Renamed('device_type="cuda"'),
    },
)
"""`torch.amp` of torch 2.13: the device comes first, and `autocast` takes what follows in another order (`dtype` before
`enabled`), so that it is named. Its `dtype` is by default the one in force, where the old one has float16
(torch/amp/autocast_mode.py, torch/cuda/amp/autocast_mode.py)."""
