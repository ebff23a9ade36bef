"""What the public constructors make that the dialects know."""

from __future__ import annotations

from amplint.dialects import DIALECTS
from amplint.dialects.dialect import Role

_MAKES = {name: role for dialect in DIALECTS for name, role in dialect.makes.items()}

MODULES = frozenset(name.rpartition(".")[0] for name in _MAKES)
"""Where the constructors are that the dialects know."""

INSTANTIATES = frozenset({"hydra.utils.instantiate", "hydra.utils.call"})
"""What makes an object of the class that a setting names under TARGET: `hydra/_internal/instantiate/_instantiate2.py`
of hydra 1.3."""

TARGET = "_target_"
PARTIAL = "_partial_"
"""Where it is true, what is made is the class with some of its arguments, and no object yet."""


def role_of(name: str) -> Role | None:
    """What a public constructor makes, None when no dialect says."""
    if name in _MAKES:
        return _MAKES[name]
    if _is_of_another_device(name):
        return Role.SCALER
    module, _, last = name.rpartition(".")
    return _MAKES.get(f"{module}.*") if last[:1].isupper() else None


def _is_of_another_device(name: str) -> bool:
    """Whether a class is the scaler of another device, which does what torch's own does: `torch.npu.amp.GradScaler`."""
    package, *within, last = name.split(".") if name.endswith(".GradScaler") else ("", "")
    return last == "GradScaler" and package.startswith("torch") and "amp" in within
