"""Imported before there is a question: what every analysis needs has been read then, and one loop was analysed."""

from __future__ import annotations

import amplint.drawing
import amplint.fix.ignores
import amplint.fix.session
import amplint.server.questions  # noqa: F401
from amplint.analysis import findings_of

_LOOP = """\
import torch

optimizer = torch.optim.SGD(model.parameters(), 0.1)
for inputs, targets in loader:
    optimizer.zero_grad()
    criterion(model(inputs), targets).backward()
    optimizer.step()
"""

findings_of(_LOOP, "warm.py")
