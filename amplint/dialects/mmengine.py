"""MMEngine 0.10: what its optimizer wrappers do stands in `mmengine.behaviour`."""

from __future__ import annotations

from amplint.dialects.dialect import Dialect

_NAMES = ("OptimWrapper", "AmpOptimWrapper")

MMENGINE = Dialect(
    name="mmengine",
    behaviour="mmengine.behaviour",
    defines={f"{place}.{name}": name for name in _NAMES for place in ("mmengine.optim", "mmengine.optim.optimizer")},
    adopts={"optim_wrapper": "OptimWrapper"},
    seeds=frozenset({"update_params"}),
    words=frozenset({".update_params("}),
    spelling={"backward": "optim_wrapper.update_params(loss)", "clip": "`clip_grad` of the optimizer wrapper"},
)
