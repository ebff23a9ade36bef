"""Training programs that nobody wrote: a right one, spelled in some way, with a few slips; both halves can run them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from textwrap import indent

from hypothesis import strategies as st

HEAD = """\
import os
import torch
from torch import nn
from torch.nn.utils import clip_grad_norm_, clip_grad_value_
torch.manual_seed(0)
use_amp = bool(int(os.environ["USE_AMP"]))
model = nn.Linear(4, 3)
criterion = nn.CrossEntropyLoss()
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler("cpu", init_scale=1024.0{enabled})
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda update: 0.99**update)
data = torch.utils.data.TensorDataset(torch.randn(36, 4), torch.randint(3, (36,)))
loader = torch.utils.data.DataLoader(data, batch_size=4)  # two windows of four, and one batch more
accum_steps = 4
epochs = 2
"""
LINES = {
    "forward": "loss = criterion(model(x), y)",
    "backward": "scaler.scale(loss).backward()",
    "unscale": "scaler.unscale_(optimizer)",
    "step": "scaler.step(optimizer)",
    "update": "scaler.update()",
    "schedule": "scheduler.step()",
}
PLAIN = {"backward": "loss.backward()", "step": "optimizer.step()", "unscale": "", "update": ""}
DIVISIONS = ("loss = loss / N", "loss /= N", "loss = loss * (1 / N)", "loss = (1.0 / N) * loss", "loss = loss.div(N)")
NO_DIVISIONS = ("", "loss = loss / (N * 2)", "part = loss / N", "loss = loss / len(loader)", "loss = loss / N / N")
CLIPS = (
    "clip_grad_norm_(model.parameters(), 1.0)",
    "torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)",
    "clip_grad_value_(model.parameters(), 0.5)",
)
ZEROS = ("optimizer.zero_grad()", "optimizer.zero_grad(set_to_none=True)", "model.zero_grad()")
GATES = ("(i + 1) % N == 0", "not (i + 1) % N", "i % N == N - 1", "(i + 1) % N == 0 or i + 1 == len(loader)")
WRONG_GATES = ("i % N == 0",)
TESTS = {  # statements before the step, the test, statements at the end of the gate
    "inline": ("", "{gate}", ""),
    "named": ("boundary = {gate}", "boundary", ""),
    "counted": ("count += 1", "count == N", "count = 0"),
    "running": ("count += 1", "count % N == 0", ""),
}
LEGAL = ("forward", "divide", "backward")
CLOSING = ("unscale", "clip", "step", "update", "zero", "schedule")
MODES = ("scaler", "plain", "twin", "enabled")


@dataclass(frozen=True)
class Act:
    """A statement of the micro-step; `gated`: under the test for the end of a window."""

    name: str
    gated: bool


@dataclass(frozen=True)
class Program:
    """A training program and how it is spelled."""

    acts: tuple[Act, ...]
    mode: str = "scaler"
    gate: str = GATES[0]
    test: str = "inline"
    division: str = DIVISIONS[0]
    clip: str = CLIPS[0]
    zero: str = ZEROS[0]
    skips: bool = False
    function: bool = False

    def source(self) -> str:
        """The whole program."""
        counting = self.test in ("counted", "running")
        loop = "for i, (x, y) in enumerate(loader):\n" + indent(self._body(), "    ")
        loop = ("count = 0\n" if counting else "") + "for epoch in range(epochs):\n" + indent(loop, "    ")
        if self.function:
            loop = f"def train(model, loader, optimizer):\n{indent(loop, '    ')}\ntrain(model, loader, optimizer)"
        head = HEAD.format(enabled=", enabled=use_amp" if self.mode == "enabled" else "")
        return head + re.sub(r"\bN\b", "accum_steps", loop) + "\n"

    def _body(self) -> str:
        before, test, after = (part.format(gate=self.gate) for part in TESTS[self.test])
        rows, gate_open = [before] if before else [], False
        last = max((at for at, act in enumerate(self.acts) if act.gated), default=-1)
        trailing = any(not act.gated for act in self.acts[last:])
        for at, act in enumerate(self.acts):
            line = self._line(act.name)
            if act.gated and not gate_open and line:
                if self.skips and not trailing and all(other.gated for other in self.acts[at:]):
                    rows.append(f"if not ({test}):\n    continue")
                    rows += [self._line(other.name) for other in self.acts[at:]]
                    rows += [after] if after else []
                    return "\n".join(row for row in rows if row)
                rows.append(f"if {test}:")
            if line:
                rows.append(indent(line, "    ") if act.gated else line)
                gate_open = act.gated
            if at == last and after:
                rows.append(f"    {after}" if gate_open and act.gated and line else f"if {test}:\n    {after}")
        return "\n".join(rows)

    def _line(self, name: str) -> str:
        if name in ("divide", "clip", "zero"):
            return {"divide": self.division, "clip": self.clip, "zero": self.zero}[name]
        line, plain = LINES[name], PLAIN.get(name, LINES[name])
        if self.mode == "plain":
            return plain
        if self.mode == "twin" and plain != line:
            other = f"\nelse:\n    {plain}" if plain else ""
            return f"if use_amp:\n    {line}{other}"
        return line


_RIGHT = tuple(Act(name, False) for name in LEGAL) + tuple(Act(name, True) for name in CLOSING)


def _slipped(acts: tuple[Act, ...], kind: str, at: int, to: int) -> tuple[Act, ...]:
    """The statements after one slip: dropped, doubled, moved into or out of the gate, moved elsewhere."""
    at, to = at % len(acts), to % len(acts)
    act, rest = acts[at], acts[:at] + acts[at + 1 :]
    if kind == "drop":
        return rest if act.name not in ("forward", "backward", "step") else acts
    if kind == "double":
        return (*acts[:to], act, *acts[to:])
    if kind == "gate" and act.name in CLOSING:  # a loss that is not back-propagated is no micro-step
        return (*acts[:at], Act(act.name, not act.gated), *acts[at + 1 :])
    return (*rest[:to], act, *rest[to:])


@st.composite
def _acts(draw: st.DrawFn) -> tuple[Act, ...]:
    acts = _RIGHT
    if draw(st.booleans()):
        acts = tuple(act for act in acts if act.name != draw(st.sampled_from(("clip", "schedule", "unscale"))))
    for _ in range(draw(st.integers(0, 3))):
        kind = draw(st.sampled_from(("drop", "double", "gate", "move")))
        acts = _slipped(acts, kind, draw(st.integers(0, 11)), draw(st.integers(0, 11)))
    return acts


programs = st.builds(
    Program,
    _acts(),
    st.sampled_from(MODES),
    st.sampled_from(GATES) | st.sampled_from(WRONG_GATES),
    st.sampled_from(list(TESTS)),
    st.sampled_from(DIVISIONS) | st.sampled_from(NO_DIVISIONS),
    st.sampled_from(CLIPS),
    st.sampled_from(ZEROS),
    st.booleans(),
    st.booleans(),
)
