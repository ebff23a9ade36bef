"""Which schedules stay with code that is seen, by what the end of a run says of them."""

import pytest

from amplint.protocol.events import KEPT, Kind
from tests.machine.played import runs_of

HEAD = """
import torch
from torch.optim.lr_scheduler import StepLR
from elsewhere import Base, move, tool


def look(schedule):
    return schedule.get_last_lr()


def main(net, loader, criterion):
    optimizer = torch.optim.SGD(net.parameters(), 0.1)
    decay = StepLR(optimizer, 10)
"""
TAIL = """
    for epoch in range(3):
        for x, y in loader:
            optimizer.zero_grad()
            criterion(net(x), y).backward()
            optimizer.step()
        print(decay.get_last_lr())
"""


def kept(line):
    (ends,) = {
        frozenset(event.detail.get(KEPT, "").split())
        for run in runs_of(f"{HEAD}    {line}\n{TAIL}", head="", entry=1)
        for event in run.events
        if event.kind is Kind.END and run.passed[1]
    }
    return bool(ends)


@pytest.mark.parametrize(
    "line", ["look(decay)", "other = [decay]", "print(decay)", "state = {'s': decay.state_dict()}"]
)
def test_what_is_seen_keeps_it(line):
    assert kept(line)


@pytest.mark.parametrize(
    "line", ["move(decay)", "move([decay])", "tool.schedule = decay", "move({'s': decay})", "move(locals())"]
)
def test_what_is_not_seen_may_step_it(line):
    assert not kept(line)
