"""PyTorch Lightning 2.6, manual optimization: `lightning.behaviour`."""

from __future__ import annotations

from amplint.dialects.dialect import Dialect

_PACKAGES = ("lightning", "lightning.pytorch", "pytorch_lightning")

LIGHTNING = Dialect(
    name="lightning",
    behaviour="lightning.behaviour",
    defines={f"{package}.LightningModule": "LightningModule" for package in _PACKAGES}
    | {f"{package}.core.LightningModule": "LightningModule" for package in _PACKAGES}
    | {f"{package}.core.module.LightningModule": "LightningModule" for package in _PACKAGES},
    words=frozenset({".manual_backward"}),
    settings={"16-mixed": r"""\bprecision["']?\s*[:=]\s*["']?16(-mixed)?["']?\s*([,)}#\r\n]|$)"""},
    spelling={"backward": "self.manual_backward(loss)"},
)
