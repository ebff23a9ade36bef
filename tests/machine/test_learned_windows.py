"""What the model learns in the middle of a run holds from its beginning, in every run that is kept."""

import pytest

from amplint.protocol.events import Kind
from tests.machine.played import runs_of

LOOP = """\
for i, (x, y) in enumerate(loader):
    {divided}
    loss.backward()
    if (i + 1) % (args.accum_steps + 1) == 0:
        optimizer.step()
        optimizer.zero_grad()
    if args.clip:
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
"""
BY_THE_WINDOW = "loss = criterion(model(x), y) / (args.accum_steps + 1)"
BY_ANOTHER = "loss = criterion(model(x), y) / (args.terms + 1)"


def divisors(divided):
    """What the losses of each run were divided by, as far as that is known."""
    runs = runs_of(LOOP.format(divided=divided))
    return [{event.detail.get("divisor") for event in run.events if event.kind is Kind.BACKWARD} for run in runs]


@pytest.mark.parametrize(("divided", "divisor"), [(BY_THE_WINDOW, "args.accum_steps + 1"), (BY_ANOTHER, None)])
def test_every_loss_of_every_run_is_divided_by_what_the_gate_asks_for_or_none_is(divided, divisor):
    found = divisors(divided)
    assert len(found) == 2, found
    assert all(one == {divisor} for one in found)
