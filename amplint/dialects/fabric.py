"""Lightning Fabric 2.6: `fabric.behaviour`."""

from __future__ import annotations

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
)
