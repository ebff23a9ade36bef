"""One line for loops with Accelerate or Fabric: `with watch(accelerator): ...`.

An Accelerator keeps what was prepared: `_optimizers`, `_schedulers` and `scaler` of accelerate 1.15. A Fabric does not:
it has a scaler in its precision plugin. By how much an Accelerator divides is read while it does; that the losses of a
window weigh 1 together is the user's to say (`accumulation_steps`).
"""

from __future__ import annotations

from typing import Any

from runtime_guard.guarding import guard


def watch(engine: Any, **options: Any) -> guard:
    """The guard of a loop that an Accelerator or a Fabric runs with; `options` are those of `guard`, and go first.

    `engine` is only read, and its framework is not imported here.
    """
    return guard(**{**_of_accelerator(engine), **_of_fabric(engine), **options})


def _of_accelerator(engine: Any) -> dict[str, Any]:
    found = {
        "optimizer": list(getattr(engine, "_optimizers", ())) or None,
        "scheduler": list(getattr(engine, "_schedulers", ())) or None,
        "scaler": getattr(engine, "scaler", None),
    }
    return {name: thing for name, thing in found.items() if thing is not None}


def _of_fabric(engine: Any) -> dict[str, Any]:
    precision = getattr(getattr(engine, "_strategy", None), "precision", None)
    scaler = getattr(precision, "scaler", None)
    return {} if scaler is None else {"scaler": scaler}
