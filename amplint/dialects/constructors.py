"""What the public constructors make that the dialects know."""

from __future__ import annotations

import re

from amplint.dialects import DIALECTS
from amplint.dialects.dialect import Role

_MAKES = {name: role for dialect in DIALECTS for name, role in dialect.makes.items()}
_OTHER_SCALER = re.compile(r"^torch\w*\.(\w+\.)*amp\.(\w+\.)*GradScaler$")
"""The scaler of another device, which does what torch's own does: `torch.npu.amp.GradScaler`."""


def role_of(name: str) -> Role | None:
    """What a public constructor makes, None when no dialect says."""
    if name in _MAKES:
        return _MAKES[name]
    if _OTHER_SCALER.search(name):
        return Role.SCALER
    module, _, last = name.rpartition(".")
    return _MAKES.get(f"{module}.*") if last[:1].isupper() else None
