"""MMEngine 0.10: what its optimizer wrappers do stands in `mmengine.behaviour`."""

from __future__ import annotations

from amplint.dialects.account import Account
from amplint.dialects.dialect import CLIPS, Dialect

_NAMES = ("OptimWrapper", "AmpOptimWrapper")

MMENGINE = Dialect(
    name="mmengine",
    behaviour="mmengine.behaviour",
    defines={f"{place}.{name}": name for name in _NAMES for place in ("mmengine.optim", "mmengine.optim.optimizer")},
    adopts={"optim_wrapper": "OptimWrapper"},
    seeds=frozenset({"update_params"}),
    words=frozenset({".update_params("}),
    spelling={
        "backward": "optim_wrapper.update_params(loss)",
        "clip": "clip_grad",
        "step": "optim_wrapper.update_params(loss)",
    },
    remedies=dict.fromkeys(CLIPS, "give the optimizer wrapper `clip_grad`, and take this clip out: the wrapper clips"),
    accounts=(
        Account(
            framework="MMEngine",
            version="mmengine 0.10.7",
            divides=("`update_params`", "mmengine/optim/optimizer/optimizer_wrapper.py, `scale_loss`"),
            scales=("`update_params`, `backward`", "mmengine/optim/optimizer/amp_optimizer_wrapper.py, `backward`"),
            unscales=("the wrapper, for its own clip", "mmengine/optim/optimizer/amp_optimizer_wrapper.py, `step`"),
            gates=("`update_params`", "mmengine/optim/optimizer/optimizer_wrapper.py, `should_update`"),
            schedules=("the runner's hook", "mmengine/hooks/param_scheduler_hook.py, `after_train_iter`"),
            saves=("`state_dict` of the wrapper", "mmengine/optim/optimizer/amp_optimizer_wrapper.py, `state_dict`"),
        ),
    ),
)
