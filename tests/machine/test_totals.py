"""What a number is called that grows amid the batches by something that is not known."""

from tests.machine.played import runs_of

LOOP = """\
total = 0
for x, y in loader:
    loss = criterion(model(x), y)
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
    {}
    if total > args.most:
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
"""


def asked(line):
    """How many different questions all runs of the loop ask about the total."""
    return len({key for run in runs_of(LOOP.format(line)) for key in run.choices if "args.most" in key})


def test_what_only_grows_is_asked_about_once():
    assert asked("total += x.shape[0]") == asked("total = total + x.shape[0]") == 1


def test_what_the_loop_sets_back_is_asked_about_again():
    assert asked("total += x.shape[0]\n    if total > args.enough:\n        total = 0") > 1


def test_what_a_loss_adds_up_to_keeps_what_it_is_made_of():
    runs = runs_of(LOOP.format("total = total + loss.item()"))
    assert all("args.most" in key for run in runs for key in run.choices)
