"""torchtitan: its step is written with torch alone, so that there is nothing here but who does what in it.

All micro-batches of a window are fetched first, their tokens counted over all ranks, and each sum divided by that; no
other division is due, and FSDP's own average over the ranks is switched off (`torchtitan/distributed/fsdp.py`).
"""

from __future__ import annotations

from amplint.dialects.account import Account
from amplint.dialects.dialect import Dialect

TORCHTITAN = Dialect(
    name="torchtitan",
    accounts=(
        Account(
            framework="torchtitan",
            version="torchtitan b5bcd76",
            divides=("`train_step`, by the tokens of the window on all ranks", "torchtitan/trainer.py, `train_step`"),
            scales=("nobody: bfloat16", "torchtitan/trainer.py, `train_step`"),
            unscales=("nobody", "torchtitan/trainer.py, `train_step`"),
            gates=("one `train_step` is a window", "torchtitan/trainer.py, `train_step`"),
            schedules=("`train_step`", "torchtitan/trainer.py, `train_step`"),
            saves=("nobody: there is none", "torchtitan/trainer.py, `train_step`"),
        ),
    ),
)
