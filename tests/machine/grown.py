"""Small training loops that Hypothesis grows from the lines of a legal window, and ways to write the same otherwise."""

from __future__ import annotations

import re
from dataclasses import dataclass
from textwrap import indent

from hypothesis import strategies as st

from amplint.analysis import findings_of
from tests.mutants.windows import CLOSE, LINES, OPEN

HEAD = """\
import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_

model = nn.Linear(4, 3)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu")
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda update: 0.99**update)
loader = torch.utils.data.DataLoader(data, batch_size=8)
"""
NEUTRAL = {
    "model": "alpha",
    "criterion": "beta",
    "optimizer": "gamma",
    "scaler": "delta",
    "scheduler": "epsilon",
    "loader": "zeta",
    "loss": "eta",
    "i": "theta",
    "epoch": "iota",
}
IRRELEVANT = (
    "print(loss.item())",
    "meter.update(loss.item(), x.size(0))",
    'logger.info("loss %.3f", float(loss))',
    "history.append(loss.detach())",
    "started = time.time()",
    "if i % 50 == 0:\n    print(epoch, i, loss.item())",
    "if verbose:\n    logger.debug(str(i))",
)
_NAME = re.compile(r"\b[a-z]\w*\b")
_GATES = ("", CLOSE, OPEN, "use_amp", "torch.isfinite(loss)")


@dataclass(frozen=True)
class Grown:
    """A loop: the statements of its micro-step, each of one or two rows, and how the length of a window is written."""

    statements: tuple[str, ...]
    length: str
    epochs: bool

    def source(self, before: str = "", statements: tuple[str, ...] | None = None) -> str:
        """The whole module. `before` stands above the loop."""
        body = "\n".join(self.statements if statements is None else statements) or "pass"
        loop = "for i, (x, y) in enumerate(loader):\n" + indent(body, "    ")
        loop = "for epoch in range(3):\n" + indent(loop, "    ") if self.epochs else loop
        text = f"{HEAD}{before}{loop}\n"
        return re.sub(r"\bN\b", self.length, text)


def _statement(name: str, gate: str) -> str:
    return f"if {gate}:\n    {LINES[name]}" if gate else LINES[name]


_statements = st.builds(_statement, st.sampled_from(list(LINES)), st.sampled_from(_GATES))
_MICRO = tuple(LINES[name] for name in ("forward", "divide", "backward"))
_STEP = _statement("step", CLOSE)


def _whole(statements: list[str]) -> tuple[str, ...]:
    """A micro-step that ends with the statements, and with a step if there is none among them."""
    found = (*_MICRO, *statements)
    return found if any(LINES["step"] in statement for statement in found) else (*found, _STEP)


def _gated(names: list[str], gates: list[str]) -> list[str]:
    return [_statement(name, gate) for name, gate in zip(names, gates, strict=True)]


_REST = [name for name in LINES if LINES[name] not in _MICRO]
_grown = st.lists(_statements, max_size=6)
_shuffled = st.builds(
    _gated, st.permutations(_REST), st.lists(st.sampled_from(_GATES), min_size=len(_REST), max_size=len(_REST))
)
loops = st.builds(
    Grown,
    (_grown | _shuffled).map(_whole),
    st.sampled_from(["4", "accum_steps", "args.accum_steps"]),
    st.booleans(),
)
"""Loops that scale, go back and step somewhere; whatever else they do, in any order and under any gate."""


def told(text: str) -> list[tuple[str, str, str]]:
    """What is found: rule, severity, and the text of the row it points at; sorted."""
    rows = text.split("\n")
    found = findings_of(text, "grown.py")
    return sorted((one.code, one.severity.value, rows[one.place.row - 1].strip()) for one in found)


def renamed(text: str, names: dict[str, str]) -> str:
    """The text with every name of the table spelled anew, attributes and keywords left as they are."""
    return re.sub(r"(?<![\w.\"])[a-z]\w*\b(?!=)", lambda found: names.get(found[0], found[0]), text)
