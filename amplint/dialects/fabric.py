"""Lightning Fabric 2.6: `fabric.behaviour`."""

from __future__ import annotations

from amplint.dialects.account import Account
from amplint.dialects.dialect import Dialect, Live

FABRIC = Dialect(
    name="fabric",
    behaviour="fabric.behaviour",
    defines={
        "lightning.Fabric": "Fabric",
        "lightning.fabric.Fabric": "Fabric",
        "lightning.fabric.fabric.Fabric": "Fabric",
        "lightning_fabric.Fabric": "Fabric",
    },
    adopts={"fabric": "Fabric"},
    spelling={"backward": "fabric.backward(loss)", "clip": "fabric.clip_gradients(...)"},
    live=Live(folders=("lightning/fabric", "lightning_fabric")),
    accounts=(
        Account(
            framework="Fabric",
            version="lightning 2.6.6",
            divides=("you", "lightning/fabric/fabric.py, `backward`"),
            scales=("`fabric.backward`", "lightning/fabric/plugins/precision/amp.py, `backward`"),
            unscales=("`fabric.clip_gradients`", "lightning/fabric/strategies/strategy.py, `clip_gradients_norm`"),
            gates=("you", "lightning/fabric/wrappers.py, `step`"),
            schedules=("you", "lightning/fabric/fabric.py, `setup_optimizers`"),
            saves=("nobody, unless it is put into the saved state", "lightning/fabric/fabric.py, `save`"),
        ),
    ),
)
